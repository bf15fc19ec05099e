/** Runs batches on a model-hosting service, and waits for what comes of them. */

const OVER = ['completed', 'failed', 'expired', 'cancelled']

export class BatchClient {
  #fetch
  #sleep
  #url
  #headers

  constructor({ url, token, fetch = globalThis.fetch, sleep = ms => new Promise(wake => setTimeout(wake, ms)) }) {
    this.#fetch = fetch
    this.#sleep = sleep
    this.#url = url
    this.#headers = { authorization: `Bearer ${token}` }
  }

  /** Asks the model every question. Resolves with the answers in order; a missing answer is undefined. */
  async ask(model, questions) {
    const lines = questions.map((content, i) =>
      JSON.stringify({
        custom_id: String(i),
        method: 'POST',
        url: '/v1/chat/completions',
        body: { model, messages: [{ role: 'user', content }] },
      }),
    )
    const form = new FormData()
    form.set('purpose', 'batch')
    form.set('file', new File([lines.join('\n')], 'questions.jsonl'))
    const file = await this.#call('POST', '/v1/files', form)
    const spec = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' }
    const { id } = await this.#call('POST', '/v1/batches', JSON.stringify(spec))
    const batch = await this.#end(id)
    const answers = questions.map(() => undefined)
    if (batch.output_file_id) {
      const output = await this.#send('GET', `/v1/files/${batch.output_file_id}/content`)
      for (const line of (await output.text()).split('\n').filter(Boolean)) {
        const { custom_id, response } = JSON.parse(line)
        answers[Number(custom_id)] = response.body.choices[0].message.content
      }
    }
    return { status: batch.status, answers }
  }

  /** Looks every minute until the batch is over. */
  async #end(id) {
    for (;;) {
      const batch = await this.#call('GET', `/v1/batches/${id}`)
      if (OVER.includes(batch.status)) return batch
      await this.#sleep(60_000)
    }
  }

  async #call(method, path, body) {
    return (await this.#send(method, path, body)).json()
  }

  async #send(method, path, body) {
    const response = await this.#fetch(`${this.#url}${path}`, { method, headers: this.#headers, body })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response
  }
}
