/** Sends chats, uploads and reads at once. In a new process, the service loads code for the first chat and upload. */
export default async function parallel({ fetch, url, token }) {
  const headers = { authorization: `Bearer ${token}` }
  const send = async (path, init = {}) => {
    const response = await fetch(url + path, { headers, signal: AbortSignal.timeout(30_000), ...init })
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    return response.json()
  }
  const upload = async name => {
    const body = new FormData()
    body.set('purpose', 'batch')
    body.set('file', new Blob(['{}\n']), name)
    const { id } = await send('/v1/files', { method: 'POST', body })
    return (await send(`/v1/files/${id}`)).bytes
  }
  const chat = async content => {
    const body = JSON.stringify({ model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content }] })
    const { id } = await send('/v1/chat/completions', { method: 'POST', body })
    await send('/v1/models')
    return id
  }
  const read = async times => {
    for (let n = 1; n <= times; n++) await send(`/v1/files?limit=${n}`)
  }
  return Promise.all([read(12), upload('a.jsonl'), chat('one'), upload('b.jsonl'), read(12), chat('two')])
}
