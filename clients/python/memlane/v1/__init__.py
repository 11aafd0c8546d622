"""The wire contract: messages and stubs generated from `proto/memlane/v1`. Import the modules by name."""
