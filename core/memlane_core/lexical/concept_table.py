"""Words that mean about the same, Chinese and English together.

A line is one concept: Chinese words, a bar, English words; an English phrase is joined by underscores. Its name is
the first Chinese word, and lines of one name are one concept. Written from the vocabulary of banking and of household
facts; a word may stand in several concepts.
"""

CONCEPTS = """
客户 买家 买方 主顾 | customer client buyer
供应商 供货商 卖方 厂家 | supplier vendor seller
公司 企业 集团 | company firm enterprise corporate
子公司 分公司 附属公司 | subsidiary affiliate branch
股东 股权 股份 持股 入股 | share shareholder shareholding stake equity own holding
董事会 董事 | board director
老板 创始人 总裁 总经理 董事长 | ceo founder president chairman owner boss
财务总监 首席财务官 财务负责人 | cfo finance_director financial_controller treasurer
财务经理 会计 财务 | accountant finance_manager bookkeeper controller finance
员工 职工 雇员 人手 | employee staff worker headcount people workforce
授权 审批 批准 签字 拍板 做主 决定 同意 决策 | approve approval authorise authorize
授权 | sign sign_off permission authority decide
接手 接任 接班 继任 交给 交接 接替 代管 | succeed successor takeover handover replace take_over hand_over
负责 分管 主管 对接 直管 管 | responsible charge manage manager head lead handle
工资 薪水 发薪 薪资 月薪 | salary payroll wage
收入 营业额 营收 销售额 流水 | revenue income turnover sales
利润 盈利 净利 | profit earnings margin
亏损 亏 赔钱 本金 | loss lose losing capital principal
预算 花多少钱 投资额 造价 | budget cost price
费用 手续费 收费 费率 | fee charge commission cost
客诉 抱怨 投诉 不满 太贵 | complain complaint unhappy expensive dissatisfied
付款 支付 打款 汇款 付 | pay payment remit remittance paid
收款 回款 到账 收钱 | collect collection receipt receivable proceeds
应收账款 应收款 账款 欠款 | receivable invoice debtor
账期 赊账 付款期 信用期 | payment_term credit_term terms tenor days
预付 先付款 款到发货 预付款 定金 | prepay prepayment upfront advance
预付 | in_advance before_shipment ahead_of_delivery deposit
拖欠 逾期 晚付 欠 延迟 准时 按时 | late overdue delay arrears default punctual on_time
坏账 呆账 核销 | bad_debt write_off default
保险 投保 险 保障 保单 理赔 赔付 赔 | insurance insure insured insurer cover coverage policy claim compensate
财产险 火灾 火险 烧 | fire burn burnt property
信用险 信用保险 | credit_insurance trade_credit
营业中断 停业 停产 停工 停转 | interruption downtime stoppage outage shutdown
黑客 网络攻击 网络安全 钓鱼 | cyber hacker hack phishing ransomware cybersecurity
贷款 借款 借 融资 贷 | loan borrow borrowing debt credit facility lend lender
房贷 按揭 月供 | mortgage
额度 授信 信用额度 | limit facility credit_line line
余额 欠多少 | balance outstanding
利率 利息 年化 | rate interest
固定利率 固定 | fixed
浮动利率 浮动 | float floating variable
抵押 质押 担保 抵押物 押 | collateral secure secured security pledge pledged guarantee lien
担保 保函 备用信用证 | guarantee bond standby
信用证 | letter_of_credit lc
票据 承兑 汇票 承兑汇票 | bill acceptance draft
保理 福费廷 | factoring forfaiting
押汇 进口押汇 | import_bill trust_receipt
违约条款 契约 约束 财务指标 | covenant breach headroom
负债 债务 | debt liability leverage
现金 流动性 闲置资金 资金 | cash liquidity money fund funds
资金池 归集 | pool pooling sweep
受限 冻结 动不了 | restricted frozen freeze blocked locked
解冻 释放 | unfreeze release released
存款 定期 活期 | deposit saving savings
理财 理财产品 | wealth_management product
基金 | fund
股票 美股 股市 | stock equities
债券 债 发债 | bond note debt
黄金 贵金属 | gold
数字货币 加密货币 比特币 | crypto bitcoin cryptocurrency
房产 房子 不动产 住房 | property house home apartment real_estate flat
厂房 工厂 车间 厂 | plant factory workshop facility site hall shop
仓库 仓 冷库 库存 | warehouse storage stock inventory
租 租金 租约 月租 房租 | rent lease rental tenant
自有 产权 自己的 | own owned freehold
设备 机器 | equipment machine machinery
风险 风险承受 | risk
风险测评 风险偏好 平衡型 稳健型 保守型 进取型 激进 稳健 保守 平衡 | risk_profile balanced conservative cautious
风险测评 回撤 波动 | aggressive volatile volatility drawdown tolerance moderate appetite
对冲 套保 避险 套期保值 保值 锁汇 锁定 保护 | hedge hedging protect protection cover lock unhedged
远期 结汇 售汇 锁汇 | forward
期权 看涨 看跌 | option put call
掉期 互换 货币互换 | swap
敲出 敲入 杠杆 结构性 | knock_out barrier leverage leveraged structured
敞口 头寸 | exposure position
汇率 外汇 换汇 | fx exchange exchange_rate currency forex
货币 币种 外币 | currency
美元 美金 | usd dollar
欧元 | eur euro
日元 | jpy yen
英镑 | gbp pound sterling
人民币 | cny rmb yuan renminbi
港币 港元 | hkd
加元 加拿大元 | cad canadian
新加坡元 新币 | sgd
澳元 | aud australian
美国 美洲 北美 | us usa american america united_states states
中国 国内 | china chinese domestic
德国 | germany german
日本 | japan japanese
英国 | uk britain british england
越南 | vietnam vietnamese
巴西 | brazil brazilian
新加坡 | singapore
香港 | hong_kong hongkong hk
欧洲 | europe european
海外 境外 国外 | overseas foreign abroad offshore international
出口 外销 | export
进口 采购 | import purchase procurement
关税 | tariff duty
税 税务 报税 | tax taxation
发票 | invoice
补贴 补助 拨款 | grant subsidy public_money funding
上市 首次公开 | ipo listing
收购 并购 买下 | acquire acquisition acquired bought buy merger
出售 卖掉 退出 转让 | sell sale exit disposal divest wants_out
回购 | buyback repurchase buy_back
股息 分红 股利 红利 | dividend
取消 终止 放弃 停止 不做 叫停 | cancel cancelled call_off stop stopped abandon terminate drop reject rejected
推迟 延期 延后 | postpone postponed delay defer
提高 上调 增加 提升 | raise increase raised higher rise
降低 下调 减少 下降 | lower reduce cut decrease decline slip drop halve fall
最大 第一大 头号 | largest biggest top main
第二大 | second_largest
上限 最多 不超过 不得超过 最高 | maximum cap limit ceiling most exceed
下限 最少 至少 最低 | minimum least floor
到期 期满 | mature maturity expire expiry due
续保 续约 续签 续期 | renew renewal
日期 什么时候 何时 哪天 | date when
电话 打电话 来电 | phone call telephone
邮件 邮箱 电邮 | email mail e_mail
微信 短信 消息 | message sms text wechat
报告 报表 材料 文件 文档 | report document paperwork statement file
格式 | format spreadsheet pdf excel
语言 中文 英文 英语 德语 | language english german chinese french mandarin
会议 开会 见面 | meeting meet appointment
喜欢 偏好 希望 想要 | prefer like favourite favorite want preference enjoy taste
讨厌 不喜欢 不接受 反感 排斥 | dislike hate refuse avoid reject
家庭 家人 家里 | family relative
孩子 儿子 女儿 小孩 子女 | child children son daughter kid
妻子 太太 老婆 丈夫 先生 老公 配偶 爱人 | wife husband spouse partner
父亲 母亲 父母 爸爸 妈妈 爸 妈 | father mother parent dad mum mom
兄弟 姐妹 妹妹 弟弟 哥哥 姐姐 | brother sister sibling
结婚 婚礼 订婚 婚姻 | marry married marriage wedding engagement engaged
怀孕 产假 生孩子 出生 | maternity pregnant birth born baby
离职 辞职 休假 离开 | resign quit leave leaving depart
生日 年龄 多大 岁 | birthday age old year
退休 养老 养老金 | retire retirement pension
人寿保险 寿险 受益人 | life_insurance life_policy beneficiary favour favor
健康 生病 医院 过敏 | health ill hospital allergy allergic medical
学校 上学 大学 学费 教育 留学 | school university college tuition education study
旅行 出差 旅游 | travel trip holiday vacation
酒店 住宿 | hotel
车 汽车 司机 | car vehicle driver
吃 饭 餐 食物 饮食 素食 | eat food meal diet vegetarian restaurant
住 住址 地址 居住 搬家 搬 | live address residence move relocate
位于 在哪 哪里 地点 总部 | located location where based headquarters site
竞争对手 同行 对手 | competitor rival
诉讼 官司 纠纷 | lawsuit litigation dispute legal
环保 绿色 碳 | green carbon environment esg sustainable
旺季 最忙 高峰 | peak season
淡季 | low_season slack
缺口 差多少 短缺 | gap shortfall
信用卡 银行卡 卡 虚拟卡 | card
账户 户头 账号 | account
银行 本行 | bank
平台 电商 | platform marketplace e_commerce
广告 营销 推广 | advertising ad marketing
客流 开放 参观 游客 | visitor visit tourist opening
比例 占比 几成 | share ratio percentage proportion percent portion
计划 打算 准备 拟 | plan intend intention
政府 公共 财政 | government public state
合同 协议 合约 | contract agreement
专利 商标 版权 知识产权 无形资产 | patent trademark copyright intangible intellectual_property
律师 法务 | lawyer solicitor attorney counsel
医生 护士 大夫 | doctor physician nurse
投资 | invest investment investing
收益 回报 收益率 | return yield
门店 分店 店铺 开店 店 | shop store outlet
超市 零售 商超 | supermarket retail retailer grocery
网点 柜台 支行 | branch counter
物流 运输 货运 海运 船运 | logistics freight shipping shipment transport haulage
订单 下单 | order
项目 工程 | project
太阳能 光伏 | solar photovoltaic
能源 电费 用电 | energy electricity power
原材料 原料 | raw_material commodity
研发 技术 | research development technology
合伙人 合伙 | partner partnership
继承 遗产 遗嘱 | inherit inheritance estate heir
捐款 慈善 捐赠 | charity donate donation
应急 备用金 紧急 | emergency contingency buffer
现金流 周转 流动资金 | cash_flow working_capital
转账 汇出 | transfer wire
分期 每期 还款 | instalment installment repay repayment
季节 季节性 | season seasonal
管理层 高管 | management executive director
顾问 咨询 | adviser advisor consultant advice
审计 年报 | audit auditor
牌照 许可 资质 | licence license permit
宠物 狗 猫 | pet dog cat
运动 健身 跑步 | sport gym exercise run running
音乐 | music concert
阅读 | book read reading
节日 春节 圣诞 | holiday festival christmas
"""
