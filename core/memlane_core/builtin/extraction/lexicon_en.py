# ruff: noqa: E501
# Word lists read better whole.
"""English words that decide what a clause is."""

import re

KIN = "mother|father|mum|mom|dad|parents|wife|husband|spouse|fiancée?|fiance|girlfriend|boyfriend|son|daughter|kids?|children|twins|brother|sister|siblings|grandmother|grandfather|grandma|grandpa|grandparents|uncle|aunt|cousin|nephew|niece|mother-in-law|father-in-law|brother-in-law|sister-in-law|in-laws|stepson|stepdaughter|family|godson|goddaughter|ex-wife|ex-husband"
ROLE = "partner|business partner|co-founder|cofounder|boss|manager|accountant|bookkeeper|lawyer|solicitor|adviser|advisor|assistant|deputy|secretary|colleague|friend|neighbou?r|flatmate|tenant|landlord|landlady|supplier|customer|client|distributor|agent|insurer|auditor|treasurer|director|chairman|chair|shareholder|investor|guarantor|employee|engineer|driver|subsidiary|parent company|sister company|affiliate|buyer|seller|contractor|carrier|importer|exporter|broker|tax adviser|tax man|trustee|executor|HR lead|CFO|CEO|FD|finance director|office manager|co-owner|nanny|carer|godfather|godmother|head office|branch|board"
_GENDER_F = re.compile(
    r"mother|mum|mom\b|wife|girlfriend|fiancée|daughter|sister|grandma|grandmother|aunt|niece|landlady|ex-wife",
    re.I,
)
_GENDER_M = re.compile(
    r"father|dad|husband|boyfriend|\bson\b|brother|grandpa|grandfather|uncle|nephew|ex-husband|stepson|tax man",
    re.I,
)
FEMALE, MALE = _GENDER_F, _GENDER_M
PLURAL = re.compile(
    r"(?:parents|kids|children|twins|siblings|grandparents|in-laws|daughters|sons|brothers|sisters|friends|suppliers|customers|clients|partners|directors|tenants|employees|colleagues|buyers|investors|shareholders)$",
    re.I,
)
NAME = r"[A-Z][\w'’-]*[a-z][\w'’-]*(?:,? (?:&|of|de|van|von|and|the)? ?[A-Z][\w'’-]*)*"

OWN_KIN = re.compile(
    r"^(?:Mum|Mom|Mummy|Dad|Daddy|Mother|Father|Gran|Granny|Nan|Grandma|Grandpa|Grandad)(?=['’ ]|$)"
)
"""Names of relatives without an owner: the customer's own."""
DECIDES = re.compile(
    r"^(?:do (?:that|it|this)(?= \w)|go (?:with|for)|let's (?:go (?:with|for)|do|take|use|make|start with|begin with|try|pick|have)|I'll (?:go (?:with|for)|take) (?:option|plan|the (?:first|second|third)))\b",
    re.I,
)
POLITE_WISH = re.compile(
    r"^(?:could|can|would|will) you (?:please )?(?:always |only |never )?(?:keep|send|use|call|email|e-mail|write|text|put|make|stop|address|contact|post|mail|hold|deliver|copy)\b",
    re.I,
)
FILLER = re.compile(
    r"^(?:(?:hi+|hiya|hello|hey|good (?:morning|afternoon|evening|day|night)|morning|evening|afternoon|there|all|team|yo|howdy|greetings|cheers|ta|thanks?(?: you)?(?: so much| very much| a lot| a million| again| for (?:the|your|all)[\w ,']*| anyway| loads)?|many thanks|thx|much appreciated|appreciate(?:d| it)|that's (?:all|it|kind|great|good|fine|helpful|very helpful|useful|clear|perfect|everything|good to know|interesting|a relief|lovely|brilliant|enough)(?: for (?:now|today))?(?: from me)?|ok(?:ay)?|k|kk|sure|fine|great|perfect|lovely|brilliant|excellent|wonderful|awesome|cool|super|nice(?: one)?|good|right|alright|all right|yes|yep|yeah|yup|aye|no|nope|nah|hmm+|mm+|um+|uh|oh|ah|aha|wow|haha+|lol|got it|i see|i understand|understood|noted|makes sense|fair enough|interesting|good to know|of course|exactly|absolutely|indeed|correct|true|please|very well|no worries|no problem|no rush|never mind|nevermind|no need|happy (?:monday|tuesday|wednesday|thursday|friday|weekend|new year|easter|holidays|christmas)|keep it up|just passing by|passing by|not really|not yet|not now|nothing(?: else| urgent| more)?|nobody|no one|none|not at all|maybe|perhaps|possibly|will do|done|oops|whoops|sorry|my bad|bye|goodbye|see you(?: later| soon)?|talk (?:soon|later)|speak soon|take care|have a (?:good|nice|great|lovely) (?:day|one|weekend|evening)|you too|same to you|good catch|well done|good point|good idea|not worth it|too expensive|go on|carry on|then|so|well|again|that's it for now|it works|done, it works|all good|all clear|clear|sounds (?:good|great|fine|reasonable|interesting|sensible|ok)|that helps|happy days|i'm (?:good|fine|ok|okay|all set)|great stuff|will check|later|good luck|looking forward to it|that would be (?:great|lovely|nice|good|perfect|helpful)|just (?:asking|curious|checking|browsing|saying hi|wondering)|anything else|👍|🙏|😊|🙂)[\s,.!;:–—-]*)+$",
    re.I,
)
_TALK = (
    r"i(?:'ll| will| shall)? (?:have a think|think (?:about|it)[\w ]*|think on it|sleep on it|consider (?:it|that|this)|mull[\w ]*|let you know[\w ]*|get back to you[\w ]*|be in touch|come back to you[\w ]*|look into (?:it|that)|pass|wait and see|check[\w ]*|ask[\w ]*|discuss[\w ]*|talk[\w ]*|speak[\w ]*|read[\w ]*|leave it[\w ]*)"
    r"|i(?:'d| would) (?:need|like|have) to (?:think|sleep|check|discuss|ask|talk)[\w ]*|i need to (?:think|sleep|check|discuss|ask|talk|speak)[\w ]*|i(?:'m| am) (?:not (?:sure|ready|convinced)|just|only) ?(?:yet|about[\w ]*|(?:asking|curious|looking|browsing|wondering|checking|testing|seeing)[\w ']*)?"
    r"|i (?:don't|do not) know(?: yet)?|i(?:'ve| have)? (?:got )?(?:a|another|one|two|some|one more)(?: quick| more| small)? questions?[\w ]*|i was (?:just )?(?:wondering|curious|asking)[\w ']*|i (?:was )?wonder(?:ing)?[\w ']*|i(?:'m| am) curious[\w ]*|i (?:guess|suppose|think|hope|believe) so|i (?:read|heard|saw|hear)\b.*|i mean|i (?:just )?want(?:ed)? to (?:ask|know|check|understand|say|see|test)\b.*|i(?:'d| would) (?:just )?like to (?:ask|know|understand|check|say)\b.*|let me (?:think|see|check|talk|speak|ask|discuss|sleep|read|look|get)\b.*|let us (?:think|see|discuss)\b.*|let's see|we(?:'ll| will)? (?:have a think|think about[\w ]*|see|discuss[\w ]*|let you know[\w ]*|get back to you[\w ]*)"
    r"|(?:just|only) (?:seeing|checking|testing|asking|looking|saying|browsing|popping)\b.*|that was all|nothing (?:urgent|special|important|else|in particular)\b.*|what a\b.*|it(?:'s| is) (?:raining|sunny|cold|hot|warm|freezing|snowing|lovely|nice|a (?:nice|lovely|beautiful|rainy|sunny))\b.*|(?:the )?weather\b.*|how are you|hope (?:you|all)\b.*|i hope (?:you|all|this|that)\b.*|thank you\b.*|thanks\b.*|i (?:appreciate|like) (?:it|that|your (?:help|honesty))(?: (?:a lot|so much|very much|idea|too))?|you(?:'ve| have| are|'re)\b.*|i (?:get|see|understand|follow)(?: it| that| you| the (?:idea|point|difference))?"
    r"|i (?:always |keep |just |must have |'ve )?(?:mix(?:ed)?|mixing|confus\w+|flipped|swapped|misread|mistyped|misspoke|got|transposed|looked at)\b.*\b(?:them|it|those|that|digits|numbers?|up|wrong|figures?|year's|names?)\b.*|(?:i|we)(?:'m| am|'re| are|'ll| will)(?: going to)? try\b.*|(?:really,? )?(?:can't|couldn't) sleep\b.*|.*\b(?:say(?:ing)? (?:hi|hello)|test(?:ing)? the waters|kill(?:ing)? time|a chat|real person|a (?:ro)?bot)\b.*|(?:i(?:'m| am) )?(?:just )?joking\b.*|(?:just )?kidding\b.*|worth a (?:try|shot)|(?:the |your )?(?:new )?(?:app|website|site|interface|chat)\b.{0,6}(?:looks?|is|seems?)\b.*|.*\b(?:passing by|waiting for my (?:coffee|bus|train|tea|lunch))\b.*|(?:just )?bored\b.*|it(?:'s| is) (?:packed|crowded|late|early|monday|friday)\b.*|(?:it|that|this)(?:'s| is)? (?:a )?(?:joke|scam|spam)\b.*"
)
TALK = re.compile(rf"^(?:{_TALK})$", re.I)
LEAD = re.compile(
    r"^(?:(?:(?:morning|evening|afternoon)(?=,)|hi+|hiya|hello|hey|good (?:morning|afternoon|evening)|thanks?(?: you)?|cheers|ok(?:ay)?|sure|great|perfect|lovely|right|alright|well|so|and|but|also|oh|ah|hmm+|um+|actually|by the way|btw|one more thing|another thing|one other thing|in addition|besides|anyway|to be honest|honestly|frankly|basically|for the record|fyi|just so you know|as you know|please note(?: that)?|note that|please remember(?: that)?|remember that|you should know(?: that)?|i should (?:mention|add|say)(?: that)?|i forgot to (?:say|mention)(?: that)?|to be clear|of course|fine|good|noted|understood|exactly|indeed|no problem|got it|i see|true|fair enough|that's fine|that works|ooh|sorry|(?:yes|yeah|yep|no|correct|right|true|agreed)(?=,)|(?:yes|no) please|then|however|meanwhile|plus|on top of that|for context|for information|in fact|thing is|the thing is|not worth it|good point|makes sense)\b[\s,.:;!–—-]+)+",
    re.I,
)
WH = re.compile(
    r"^(?:(?:for|to|from|in|at|by|with|on|over|under|of) )?(?:what|which|who|whom|whose|when|where|why|how)\b",
    re.I,
)
ASK = re.compile(
    r"^(?:(?:is|are|was|were|does|did|has|can|could|would|will|should|shall) (?!do\b)\w|what|which|who|whom|whose|where|why|how|when (?:do|does|did|is|are|was|will|would|can|could|should|has|have)|(?:do|does|did|is|are|was|were|will|would|can|could|should|shall|may|might|has|have|had|isn't|aren't|don't|doesn't|can't|couldn't|wouldn't|won't) (?:i|you|we|they|he|she|it|there|the|that|this|my|our|your|an?|any|these|those|someone|anyone|people|firms|companies|banks)\b|any (?:chance|idea|news|advice|tips|way|reason|thoughts|suggestions|update)\b|is it\b|tell me\b|explain\b)",
    re.I,
)
HYPOTHETICAL = re.compile(
    r"^(?:suppose|supposing|imagine|assume|assuming|let's say|say i|hypothetically|what if|in theory|theoretically|as an example|for example|for instance|if (?:someone|somebody|a (?:person|customer|firm|company)|one|you)\b|people (?:say|usually|often)|they say|everyone (?:says|knows)|a friend asked|i wish\b)",
    re.I,
)
REQUEST = re.compile(
    r"^(?:from now on,? |in future,? |going forward,? |please |kindly |just |also |then |now |could you |can you |would you |will you )*(?:send|show|tell|give|explain|help|check|look|find|book|call|email|text|let me know|let us know|walk|run|compare|calculate|work out|draft|prepare|print|confirm|list|remind|put|set up|open|close|transfer|pay|get|arrange|forward|share|update|resend|reset|recommend|suggest|connect|pass|take|make|keep|use|note|mail|post|write|address|contact|ring|copy|cc|invoice|deliver|do not|don't|never|always|talk|speak|say|phone|message|whatsapp|reply|answer|stop|avoid|hold|pause|freeze|block|cover|lock|fix|limit|cap|invest|move|split|register|enrol|enroll)\b|^(?:please )?only (?:call|email|text|send|use|contact|write|ring|deliver|accept)\b",
    re.I,
)
STANDING = re.compile(
    r"\b(?:always|never|from now on|in future|going forward|every time|each time|every|each|only|any more|anymore|by (?:e-?mail|sms|text|phone|post|letter|whatsapp)|in (?:plain |simple |clear )?(?:english|german|french|chinese|spanish|writing|large (?:print|type))|instead|until|unless|don't|do not|urgent|rather than|that way|after \d|before \d|on weekdays|mornings?|afternoons?|evenings?|weekends?|during|to my|to our|cc|no calls|on my mobile|at work|statements?)\b",
    re.I,
)
SELF = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves|i'm|i've|i'd|i'll|we're|we've|we'd|we'll)\b", re.I
)
BUSINESS = re.compile(
    r"\b(?:company|firm|business|supplier|suppliers|customers?|clients?|invoices?|orders?|turnover|revenue|sales|profit|payroll|staff|employees?|people|board|directors?|shareholders?|factory|plant|warehouse|office|shop|store|stores|branch|site|clinic|trust|lease|landlord|insurer|cover|premium|excess|policy|loan|mortgage|deposit|overdraft|facility|guarantee|beneficiary|contract|project|tender|shipment|containers?|cargo|stock|steel|raw material|machines?|equipment|trucks?|vans?|fleet|building|rent|wages|salar(?:y|ies)|grants?|fees|takings|income|savings|pension|budget|policy|tax|vat|account|payments?|currency|exposure|hedg\w+|forwards?|options?|heirs?|estate|probate|will|house|flat|property|school|university|tuition|children|twins)\b",
    re.I,
)
COMPANY_CUE = re.compile(
    r"\b(?:our|the) (?:company|firm|business|suppliers?|customers?|clients?|staff|board|office|factory|plant|warehouse|shareholders?|turnover|revenue|payroll|auditors?|insurer|depot|fleet|shop|store|invoices?|vat|directors?|clinics?|employees?|treasury|products?|team|contracts?|subsidiary|competitors?|accounts? department|finance team|warehouse)\b|\bboard (?:meets|approved?|wants|decided)\b|\bguarantee for\b|\bwe(?:'re| are) an? [\w -]{0,30}(?:practice|firm|company|business|shop|maker|manufacturer|wholesaler|distributor|charity|school|agency|studio|bakery|farm|brewery|start-?up|restaurant|hotel|clinic|co-?op|garage|nursery|gallery|publisher|contractor|supplier|exporter|importer)\b|\bwe (?:export|import|manufacture|make|build|produce|sell|supply|employ|hire|invoice|ship|install|trade|distribute|launch|run|operate)\b|\bmy (?:company|firm|business)\b|\bpayroll\b",
    re.I,
)
MARKET = re.compile(
    r"\b(?:the )?(?:dollar|pound|euro|sterling|yen|markets?|stocks?|shares|rates?|interest rates|inflation|economy|fed|ecb|bank of england|gold|oil|house prices|prices|news|weather|traffic|football|match|film|weekend|everyone|everybody|people|firms|banks|companies|governments?)\b.{0,30}\b(?:up|down|falling|rising|rises?|falls?|fell|rose|going|crazy|volatile|moving|jump(?:ed|s)?|drop(?:ped|s)?|high|low|expensive|cheap|weak|strong|weaker|stronger|good|bad|nice|usually|often|normally|mad|wild)\b",
    re.I,
)
OPINION = re.compile(
    r"^(?:(?:that|it|this|\w+(?: \w+){0,3})(?:'s| is| are| sounds?| seems?| looks?) )(?:a bit |far |way |much |so |very |rather |quite |pretty |really |too )*(?:long|short|expensive|cheap|much|little|high|low|steep|complicated|risky|tempting|pricey|dear|costly|fine|ok|okay|good|great|nice|interesting|useful|clear|confusing|wrong|right|true|fair|normal|reasonable|odd|strange|annoying)(?: for (?:me|us))?$",
    re.I,
)
ACCEPT = re.compile(
    r"^(?:both|all of (?:them|it)|yes to (?:both|all))(?:,? (?:of them )?please)?$|^(?:(?:yes|ok(?:ay)?|right|great|good|perfect|fine|sure|alright|then|well|so|(?:i )?love (?:it|that|the idea)|(?:good|great|nice|brilliant|smart) (?:idea|plan|thinking|suggestion)|sounds (?:good|great|fine|sensible|reasonable)|that sounds (?:good|fine|great|sensible|reasonable)|you've convinced me|makes sense|i like (?:it|that))[\s,.!–—-]+)*(?:that works(?: for (?:me|us))?|agreed|deal|done deal|i(?:'m| am)? ?(?:agree|accept|happy (?:with|to do|to go with) (?:that|it|this))|we(?:'re| are)? ?(?:agree|accept|happy with that)(?: (?:that|it|your (?:offer|proposal|suggestion)))?|let's do (?:it|that|this|exactly that|so|just that)|let us do that|do (?:it|that|so)(?: then)?|go ahead(?: with (?:it|(?:that|this|the|your)(?: \w+){0,2}))?|go for (?:it|that)|(?:i|we)(?:'ll| will|'d like to| want to| would like to) (?:do|take|go with|go for|follow|accept) (?:it|that|this|your (?:advice|suggestion|proposal|recommendation|plan))|let's go (?:with|for) (?:it|that|this|your (?:suggestion|proposal|plan|recommendation))|as you (?:suggest|propose|say|recommend)(?:ed)?|(?:please )?proceed(?: (?:with (?:it|that)|as you (?:suggest|propose)(?:ed)?|like that|on that basis))?|please do(?: that| so| it)?|yes,? please(?: do)?|book it|set it up|exactly,? do that|fine by (?:me|us)|that(?:'s| is) (?:fine|what i want|what we want|a plan|agreed)(?: (?:with|by) (?:me|us))?|i(?:'ll| will) take (?:it|that|your advice)|count me in|sign me up)(?:[\s,]+(?:then|please|thanks|thank you|as (?:you )?(?:suggested|proposed)))*[\s.!]*$",
    re.I,
)
PRAISE = re.compile(
    r"^(?:the|that|this)?(?: [\w-]+){1,3} (?:works|suits|is (?:fine|good|ok))(?: (?:for|with) (?:me|us))?$|^(?:i )?(?:love|like) (?:it|that|this|the idea)|(?:what )?a? ?(?:good|great|nice|brilliant|smart|excellent) (?:idea|plan|thinking|suggestion|one)$",
    re.I,
)
SERVICE = re.compile(
    r"^(?:shall i|do you want me to|would you like me to|should i|can i|may i) (?:update|send|arrange|book|call|contact|look|check|connect|email|e-mail|get|show|explain|prepare|put you|transfer you|note|pass|file|help)\b",
    re.I,
)
PROPOSAL = re.compile(
    r"\b(?:suggest|recommend|propose|could|would|i'd|how about|consider|shall (?:i|we)|you (?:can|might|may)|why not|what about|option (?:is|would)|better to|best to|should)\b",
    re.I,
)
YES = re.compile(
    r"^(?:yes|yep|yeah|yup|sure|correct|right|exactly|indeed|absolutely|definitely|of course|that's (?:right|correct|it)|(?:we do|i do|i am|we are|i have|we have|we will|i will|both|it does|it is|they do|they are|he does|she does|he is|she is)(?=\s*(?:[,.!;]|$))|affirmative)\b[\s,.!:;–—-]*(?:please\b[\s,.]*)?",
    re.I,
)
NO = re.compile(
    r"^(?:no(?! (?:more|less|later|earlier|fewer|one|need|rush|longer|idea|problem|worries|thanks)\b)|nope|nah|not yet|none(?: at all| whatsoever| so far)?|never|not at all|nothing(?: at all| yet)?|neither|(?:i don't|we don't|i do not|we do not|i'm not|we're not|i haven't|we haven't|i can't|we can't|he doesn't|she doesn't)(?=\s*(?:[,.!;]|$))|not really|not so far|not currently|not at the moment|no,? (?:i|we|he|she|they|it) (?:don't|do not|doesn't|haven't|have not|hasn't|aren't|isn't|can't|won't)(?=\s*(?:[,.!;]|$))|zero|nobody|no one)\b[\s,.!:;–—-]*",
    re.I,
)
PREPOSITION_START = re.compile(
    r"^(?:not|about|around|approximately|roughly|some|only|just|maybe|mostly|mainly|almost|nearly|over|under|up to|at (?:least|most)|between|until|till|after|before|because|for|in|at|on|by|with|from|through|via|every|each|once|twice|whenever|as soon as|within|to|since|during|half|all|both|either|the|a|an|another|one|two|three|four|five|six|seven|eight|nine|ten|any|less|more|no|usually|probably|ideally|preferably)\b|^\W*\d|^(?:[A-Z]{3}|[€£$])\s?\d",
    re.I,
)
INJECTION = re.compile(
    r"(?-i:\b(?:SYSTEM|ASSISTANT|ADMIN|DEVELOPER)\b)\s*:|\b(?:ignore (?:all|any|the|your|previous|prior|above|everything)|disregard (?:all|the|your|previous|prior|any)|(?:system|assistant|developer|ai|admin|agent|bot|model) (?:prompt|note|message|instructions?|override|command|directive)|(?:new|hidden|secret) instructions?|(?:add|save|write|store|commit|record|append|log) (?:this |the following |it |that )?(?:to|in|into) (?:your |the |its |long-term |customer |user )*(?:memory|memories|profile|record|file|notes)|(?:this|the) (?:customer|user|client|account holder)(?:'s)? (?:has|have|is|was|wants|authori[sz]es|trusts|agreed|agrees|consents|waives|must|should|prefers|approved|account|risk)|remember that (?:this|the) (?:customer|user|client)|you are now|act as|developer mode|jailbreak|you must (?:now )?(?:record|remember|store|save)|(?:set|mark|flag|update) (?:the |this )?(?:customer|user|client)(?:'s)?|for the (?:ai|assistant|bot))\b",
    re.I,
)
RETRACTION = re.compile(
    r"\b(?:forget (?:what|that|about|everything|my)|delete (?:what|that|the (?:note|memory|record))|scratch what|disregard what|never mind what|remove (?:the note|my))\b",
    re.I,
)
CONFIRMS = re.compile(
    r"^(?:yes,? )?(?P<what>[\w%.,' -]{3,40}?) (?:is|sounds|would be) (?:right|correct|fine|about right|spot on|it|perfect|good)(?: (?:for|with) (?:me|us))?$",
    re.I,
)

ADVERB = r"(?:always|usually|also|never|only|just|still|really|generally|currently|now|mostly|often|rarely|already|both|all|mainly|typically|normally|occasionally|sometimes|probably|actually|definitely|firmly|personally|strongly|no longer|hardly|simply|clearly|each|either|even|ever|seldom|recently|finally|regularly|basically|long|soon|once|first|then|originally|previously|presently|primarily|largely|certainly|absolutely|obviously|possibly|mutually|jointly)"
PAST = frozenset(
    "went got made took sold bought paid lost left met kept held had did said told found came became gave ran began sent spent built thought brought taught caught felt heard knew grew saw wrote drove chose spoke broke fell rose won stood understood led flew froze lent bent dealt meant slept sat shut stole stuck struck swore threw tore woke wore withdrew forgot drew ate drank hid hung laid overpaid rebuilt repaid outgrew undertook".split()
)
SAME = frozenset("put set cut let hit cost quit spread bet split shut".split())
NOT_PAST_ED = frozenset(
    "need feed proceed exceed speed breed seed heed bleed succeed embed shed wed exceed indeed".split()
)
MODAL = frozenset(
    "can could will would shall should may might must can't couldn't won't wouldn't shouldn't mustn't cannot 'll 'd ought used".split()
)
COMMON = frozenset(
    "have need want run own make build sell buy pay earn live work use get receive hold keep hedge export import ship employ plan prefer like love hate dislike expect hope think know speak travel rent lease borrow owe save invest bank trade operate manage manufacture produce supply order spend charge invoice launch open close move expand hire serve install chair lead look bring take go come do see feel say tell mean start stop change switch turn send give put set let allow require demand ask offer provide cover lose win worry care mind trust believe understand read write drive fly smoke drink eat drop fall rise grow mature arrive leave stay remain become seem cost belong depend include consist contain add agree accept decide choose pick select reject refuse avoid intend aim try manage meet see visit call email text contact sign approve authorise authorize confirm deliver finish complete finance fund support raise lend repay refinance renew extend cancel terminate retire study teach attend graduate marry divorce inherit donate split share convert exchange transfer wire deposit withdraw insure claim sue settle file report audit tax".split()
)  # fmt: skip
FINITE = re.compile(
    r"\b(?:am|is|are|was|were|be|been|has|have|had|do|does|did|can|could|will|would|shall|should|may|might|must|cannot|isn't|aren't|wasn't|weren't|hasn't|haven't|hadn't|don't|doesn't|didn't|can't|couldn't|won't|wouldn't|shouldn't)\b|['’](?:m|re|ve|ll|d)\b|(?<=\w)['’]s (?=(?:a|an|the|not|very|so|too|about|in|on|at|been|going|getting|worth|our|my|called|still|only|always|never|now|retired|\d)\b)",
    re.I,
)
NOT_NAMES = frozenset(
    "he she they it his her their its this that there student robotic retirement permanent cheaper income cash none fixed monthly quarterly yearly weekly fifteen twenty thirty forty fifty through euros dollars pounds kronor north south early late next deposits floating property mortgage savings shares bonds stocks keeping buying selling".split()
)
"""Words that open an answer with a capital and are no names."""
