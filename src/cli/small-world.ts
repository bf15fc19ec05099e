/** The files that `fixture new` writes: three models, two nodes and a running deployment. */
export const SMALL_WORLD: Readonly<Record<string, string>> = {
  'account.json': `{
  "uid": "user_1",
  "email": "dev@acme.example",
  "display_name": "acme",
  "funds_cents": 100000,
  "gpu_limits": { "H100-80GB": 16 }
}
`,
  'api_tokens.json': `[
  { "token": "my_token", "token_id": "token_1", "name": "default", "created_at": 1767139200 }
]
`,
  'models.json': `[
  { "model_name": "acme-labs/chat-8b", "type": "text-generation", "parameters_b": 8 },
  { "model_name": "acme-labs/chat-70b", "type": "text-generation", "parameters_b": 70 },
  { "model_name": "acme-labs/embed-1b", "type": "embeddings", "parameters_b": 1 }
]
`,
  'nodes.json': `{
  "pools": [
    {
      "name": "main",
      "zone": "east-a",
      "nodes": [{ "prefix": "h100", "gpu": "H100-80GB", "gpus_per_node": 8, "count": 2 }]
    }
  ]
}
`,
  'deployments.json': `[
  { "model_name": "acme/chat", "weights": { "repo": "acme/chat-8b" } }
]
`,
}
