/** Uploads under a timeout, and has its garbage collected meanwhile. */
export default async function run({ fetch, url, token, sleep }) {
  const upload = async () => {
    const form = new FormData()
    form.append('purpose', 'batch')
    form.append('file', new Blob(['x']), 'a.jsonl')
    const response = await fetch(`${url}/v1/files`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(60_000),
    })
    if (!response.ok) throw new Error(String(response.status))
  }
  const other = async () => {
    for (let i = 0; i < 10; i++) {
      await sleep(1000)
      globalThis.gc?.()
      await new Promise(setImmediate)
    }
  }
  const [a] = await Promise.allSettled([upload(), other()])
  if (a.status === 'rejected') throw new Error(`upload: ${a.reason.message}`)
  return 'uploaded'
}
