"""Remember, search, correct, look back, forget. Start a server first (`memlane serve`), then:

python clients/python/examples/quickstart.py [host:port]
"""

import sys

import memlane


def main(target: str) -> None:
    with memlane.Client(target) as client:
        learned = client.remember(
            "example-1001",
            [
                ("user", "我有两个孩子，住在杭州，想了解教育金。"),
                ("assistant", "好的，我为您介绍几款教育金产品。"),
            ],
        )
        for operation in learned.operations:
            print("learned:", operation.action, operation.memory.content)

        client.remember("example-1001", facts=["Prefers to be contacted by e-mail"])
        for hit in client.search_memories("example-1001", "How should we contact the customer?", top_k=1):
            print(f"found: {hit.memory.content} ({hit.score:.2f})")

        wish = client.create_memory("example-1001", "预算 30 万元", metadata={"channel": "branch"}).memory
        wish = client.update_memory(
            "example-1001", wish.memory_id, content="预算 50 万元", revision=wish.revision
        ).memory
        try:
            client.update_memory("example-1001", wish.memory_id, content="预算 80 万元", revision=1)
        except memlane.RevisionMismatch as error:
            print("somebody was faster: the current revision is", error.current_revision)

        for step in client.iterate(client.list_memory_revisions, "example-1001", wish.memory_id):
            print("history:", step.revision, step.action, step.content)

        context = client.build_context("example-1001", "推荐一款教育金", budget_tokens=1000)
        print("prompt:", context.total_tokens, "tokens")
        print(context.system_prompt)

        forgotten = client.forget_user("example-1001", operator="example", reason="end of the example")
        print("forgotten:", forgotten.memory_count, "memories; receipt", forgotten.receipt.receipt_id)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7070")
