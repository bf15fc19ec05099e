/** Runs batches on a model-hosting service. The client survives the failure of any single request. */
import { createHash } from 'node:crypto'

const TERMINAL = ['completed', 'failed', 'expired', 'cancelled']
const RETRIES = 7
const POLL_MS = 60_000
const GIVE_UP_AFTER_MS = 26 * 3_600_000

export class BatchClient {
  #fetch
  #sleep
  #timeout
  #url
  #headers

  constructor({
    url,
    token,
    fetch = globalThis.fetch,
    sleep = ms => new Promise(wake => setTimeout(wake, ms)),
    timeout = () => AbortSignal.timeout(30_000),
  }) {
    this.#fetch = fetch
    this.#sleep = sleep
    this.#timeout = timeout
    this.#url = url
    this.#headers = { authorization: `Bearer ${token}` }
  }

  /**
   * Asks the model every question. Resolves with `{ status, answers, errors }`: each question has, at its position, an
   * answer or an error. `key` names the job: a second call with the same key continues with its batch.
   */
  async ask(model, questions, key) {
    const lines = questions.map((content, i) =>
      JSON.stringify({
        custom_id: String(i),
        method: 'POST',
        url: '/v1/chat/completions',
        body: { model, messages: [{ role: 'user', content }] },
      }),
    )
    const text = lines.join('\n')
    const filename = `${key ?? createHash('sha256').update(text).digest('hex').slice(0, 16)}.jsonl`
    const input = await this.#findOrUpload(filename, text)
    const { id } = await this.#findOrCreate(input.id)
    try {
      return await this.#read(id, questions)
    } catch (error) {
      // The reader of the error has to know which batch may still cost money.
      throw new Error(`Failed to read batch ${id}: ${error.message}`, { cause: error })
    }
  }

  /** Waits for the end of a batch, and returns its answers in the order of the questions. */
  async #read(id, questions) {
    const batch = await this.#end(id)
    if (batch.status === 'failed') throw new Error(`Batch ${id} failed: ${JSON.stringify(batch.errors?.data)}`)
    const { completed, failed } = batch.request_counts
    const rows = [
      ...(await this.#rows(batch.output_file_id, completed)),
      ...(await this.#rows(batch.error_file_id, failed)),
    ]
    const answers = questions.map(() => undefined)
    const errors = questions.map(() => `no answer: the batch is ${batch.status}`)
    // Rows come in any order, so custom_id is what says which question a row answers.
    for (const { custom_id, response, error } of rows) {
      const content = response?.body?.choices?.[0]?.message?.content
      if (!error && content !== undefined) answers[custom_id] = content
      errors[custom_id] = content === undefined ? JSON.stringify(error ?? response?.body) : undefined
    }
    return { status: batch.status, answers, errors }
  }

  /** Polls every minute until the batch ends. If it takes too long, the batch is cancelled, so that it costs no more. */
  async #end(id) {
    for (let waited = 0; ; waited += POLL_MS) {
      const batch = await this.#call('GET', `/v1/batches/${id}`)
      if (TERMINAL.includes(batch.status)) return batch
      if (waited === GIVE_UP_AFTER_MS) await this.#call('POST', `/v1/batches/${id}/cancel`)
      if (waited > 2 * GIVE_UP_AFTER_MS) throw new Error(`Batch ${id} does not end: it is ${batch.status}`)
      await this.#sleep(POLL_MS)
    }
  }

  /** Looks before each upload: after a failed one, the service may have stored the file and lost its answer. */
  #findOrUpload(filename, text) {
    return this.#retry(async () => {
      const { data } = await this.#json('GET', '/v1/files')
      const form = new FormData()
      form.set('purpose', 'batch')
      form.set('file', new File([text], filename))
      return data.find(file => file.filename === filename) ?? this.#json('POST', '/v1/files', form)
    })
  }

  /** Looks before each create. The input file belongs to this job alone, so it identifies the batch. */
  #findOrCreate(input_file_id) {
    return this.#retry(async () => {
      const { data } = await this.#json('GET', '/v1/batches')
      const spec = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' }
      return data.find(batch => batch.input_file_id === input_file_id) ?? this.#json('POST', '/v1/batches', spec)
    })
  }

  /** Downloads the rows of a file. The counts of the batch say how many there are: a shorter file is a broken download. */
  #rows(fileId, count) {
    if (!fileId || count === 0) return []
    return this.#retry(async () => {
      const text = await (await this.#send('GET', `/v1/files/${fileId}/content`)).text()
      const rows = text
        .split('\n')
        .filter(Boolean)
        .map(row => JSON.parse(row))
      if (rows.length < count) throw new Error(`Failed to download ${fileId}: ${rows.length} of ${count} rows came`)
      return rows
    })
  }

  #call(method, path) {
    return this.#retry(() => this.#json(method, path))
  }

  /** Runs a step again while its error is one that passes: a broken connection, an unreadable answer, 408, 429, 5xx. */
  async #retry(step) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await step()
      } catch (error) {
        const { status } = error
        const canPass = status === undefined || status === 408 || status === 429 || status >= 500
        if (!canPass || attempt === RETRIES) throw error
        await this.#sleep(Math.max((error.retryAfter || 0) * 1000, 1000 * 2 ** attempt))
      }
    }
  }

  async #json(method, path, body) {
    return (await this.#send(method, path, body)).json()
  }

  async #send(method, path, body) {
    const isForm = body === undefined || body instanceof FormData
    const headers = isForm ? this.#headers : { ...this.#headers, 'content-type': 'application/json' }
    const init = { method, headers, body: isForm ? body : JSON.stringify(body), signal: this.#timeout() }
    const response = await this.#fetch(`${this.#url}${path}`, init)
    if (response.ok) return response
    const error = new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    throw Object.assign(error, { status: response.status, retryAfter: Number(response.headers.get('retry-after')) })
  }
}
