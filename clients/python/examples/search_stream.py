"""Many searches over one open stream with asyncio: the least latency per search.

python clients/python/examples/search_stream.py [host:port]
"""

import asyncio
import sys

import memlane


async def main(target: str) -> None:
    async with memlane.AsyncClient(target) as client:
        await client.remember(
            "example-2002", facts=["Flies to Shanghai every month", "偏好靠窗的座位", "对花生过敏"]
        )
        searches = [
            memlane.Search("example-2002", "Where does she travel to?", top_k=1, correlation_id="travel"),
            memlane.Search("example-2002", "喜欢坐哪里？", top_k=1, correlation_id="seat"),
            memlane.Search("example-2002", "有什么忌口？", top_k=1, correlation_id="food"),
        ]
        async with client.stream_search_memories(searches) as outcomes:
            async for outcome in outcomes:
                for hit in outcome.unwrap():
                    print(f"{outcome.correlation_id}: {hit.memory.content}")
        await client.forget_user("example-2002", operator="example", reason="end of the example")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7070"))
