/**
 * A careful client, and its mutants. One job: it deploys a model, waits for it, asks one question, runs a batch with three
 * questions, and deletes what it made. It survives any two faults without loss, or throws and leaves nothing behind.
 */
import type { FlowContext } from '../../../../src/workbench/explore/flow.ts'
import type { Has } from './mutations.ts'
import { type Answer, ServiceError, Transport } from './transport.ts'

const MODEL = 'acme/assistant'
const DEPLOYMENT = { model_name: MODEL, gpu: 'L4-24GB', hub: { repo: 'acme/chat-8b' } }
/** A model of the catalog: its batches are charged by token. */
const BATCH_MODEL = 'aurora-labs/aurora-8b-instruct'
export const QUESTIONS = ['How is tea made?', 'Why does it rain?', 'What is far away?']
/** Names the job: a restarted client finds its batch by it. */
const JOB = 'questions-of-monday'
const BATCH_ENDED = ['completed', 'failed', 'cancelled', 'expired']
const ENDED = ['stopped', 'failed', 'deleted']
const MINUTE_MS = 60_000
/** A list may lag behind a create by this time. */
const LAG_MS = 35_000
const DEPLOY_LIMIT_MS = 5 * MINUTE_MS
const BATCH_LIMIT_MS = 26 * 60 * MINUTE_MS

interface Line {
  readonly custom_id: string
  answer?: string
  error?: string
}

/** What the job knows of, and has to delete. */
interface Held {
  deployment: string | undefined
  file: string | undefined
  batch: string | undefined
}

export class Assistant {
  readonly #context: FlowContext
  readonly #has: Has
  readonly #transport: Transport
  readonly #held: Held = { deployment: undefined, file: undefined, batch: undefined }

  constructor(context: FlowContext, has: Has) {
    this.#context = context
    this.#has = has
    this.#transport = new Transport(context, has)
  }

  /** Does the job. Whatever happens, nothing goes on afterwards that costs money, or the error names it. */
  async run(): Promise<Answer> {
    let result: Answer
    try {
      await this.#deploy()
      const text = await this.#chat('Who are you?')
      const batch = await this.#runBatch()
      result = { text, ...batch }
    } catch (error) {
      if (!this.#has('noCleanup') && !(this.#has('noCleanupAfterTimeout') && error instanceof OutOfTime)) {
        await this.#cleanUp(error)
      }
      throw this.#has('attachesItsOptions') ? Object.assign(error as object, { options: this.#context }) : error
    }
    await this.#cleanUp(undefined)
    return result
  }

  async #deploy(): Promise<void> {
    const id = await this.#findOrCreateDeployment()
    this.#held.deployment = id
    if (id === undefined) {
      await this.#context.sleep(DEPLOY_LIMIT_MS)
      return
    }
    const limit = this.#has('neverReadsFailed') ? 10 * DEPLOY_LIMIT_MS : DEPLOY_LIMIT_MS
    for (const deadline = this.#context.now() + limit; this.#context.now() < deadline; ) {
      const { status } = await this.#get('getDeployment', `/deploy/${id}`)
      if (status === 'running') return
      const ended = this.#has('neverReadsFailed') ? [] : ENDED
      if (ended.includes(status)) throw new Error(`the deployment is ${status}`)
      await this.#sleepBetweenPolls(30_000)
    }
    throw new OutOfTime('the deployment does not run in time')
  }

  /** Looks before each create: the one before may have taken effect without an answer. */
  async #findOrCreateDeployment(): Promise<string | undefined> {
    for (let attempt = 0; ; attempt++) {
      const found = this.#has('noLookUp') || this.#has('takes409ForSuccess') ? undefined : await this.#findDeployment()
      if (found !== undefined) return found
      try {
        const call = { method: 'POST', path: '/deploy/llm', name: 'createLlmDeployment', body: DEPLOYMENT }
        const { deploy_id } = await this.#transport.once(call)
        if (deploy_id === undefined && !this.#has('trustsEmptyAnswers')) throw new Error('the answer has no deploy_id')
        return deploy_id
      } catch (error) {
        const isTaken = error instanceof ServiceError && error.status === 409
        if (isTaken && this.#has('takes409ForSuccess')) return undefined
        const canRetry = this.#transport.canPass(error) || (isTaken && !this.#has('noLookUp'))
        if (this.#has('noRetry') || !canRetry || attempt === 6) throw error
        await this.#transport.pause('createLlmDeployment', attempt, error)
      }
    }
  }

  async #findDeployment(): Promise<string | undefined> {
    const deployments: Answer[] = await this.#get('listDeployments', '/deploy/list')
    return deployments.find(({ model_name, status }) => model_name === MODEL && !ENDED.includes(status))?.deploy_id
  }

  async #chat(content: string): Promise<string> {
    const body = { model: MODEL, messages: [{ role: 'user', content }], max_tokens: 50 }
    const call = { method: 'POST', path: '/v1/chat/completions', name: 'createChatCompletion', body }
    const ask = async () => {
      const answer = await this.#transport.once(call)
      return this.#has('trustsEmptyAnswers') ? answer.choices?.[0].message.content : answer.choices[0].message.content
    }
    if (!this.#has('scalesUpOn503')) return this.#transport.retry(call.name, ask)
    return ask().catch(async error => {
      if (!(error instanceof ServiceError && error.status === 503)) throw error
      const settings = { min_instances: 2, max_instances: 2 }
      const path = `/deploy/${this.#held.deployment}`
      await this.#transport.request({ method: 'PUT', path, name: 'updateDeployment', body: { settings } })
      await this.#context.sleep(20 * MINUTE_MS)
      return this.#transport.retry(call.name, ask)
    })
  }

  async #runBatch(): Promise<Answer> {
    const id = await this.#findOrCreateBatch()
    this.#held.batch = id
    const batch = await this.#awaitBatch(id)
    this.#held.batch = undefined
    if (batch === undefined) return { batch: id, status: 'submitted' }
    if (batch.status === 'failed' || batch.status === 'cancelled') throw new Error(`the batch is ${batch.status}`)
    const rows = await this.#rowsOf(batch)
    // Its defect would be visible in the status.
    const status = this.#has('ignoresTheErrorFile') ? 'submitted' : batch.status
    return { batch: id, status, lines: this.#has('joinsByPosition') ? byPosition(rows) : byId(rows) }
  }

  /** Looks before each create: also an earlier start of the job may have created the batch. */
  #findOrCreateBatch(): Promise<string> {
    let attempts = 0
    return this.#transport.retry('createBatch', async () => {
      const isFirst = attempts++ === 0
      const isBlind = isFirst ? this.#has('noRestartLookUp') : this.#has('noBatchLookUp')
      const found = isBlind ? undefined : await this.#findBatch()
      if (found !== undefined) return found.id
      this.#held.file ??= await this.#upload()
      return (await this.#transport.once(this.#creation)).id
    })
  }

  get #creation() {
    const spec = { endpoint: '/v1/chat/completions', completion_window: '24h', metadata: { job: JOB } }
    return {
      method: 'POST',
      path: '/v1/batches',
      name: 'createBatch',
      body: { ...spec, input_file_id: this.#held.file },
    }
  }

  #upload(): Promise<string> {
    const content = QUESTIONS.map((question, i) => {
      const body = { model: BATCH_MODEL, messages: [{ role: 'user', content: question }], max_tokens: 60 }
      return JSON.stringify({ custom_id: `q${i + 1}`, method: 'POST', url: '/v1/chat/completions', body })
    }).join('\n')
    return this.#transport.retry('uploadFile', async () => {
      const form = new FormData()
      form.set('purpose', 'batch')
      form.set('file', new File([content], `${JOB}.jsonl`))
      return (await this.#transport.once({ method: 'POST', path: '/v1/files', name: 'uploadFile', body: form })).id
    })
  }

  /** Looks twice, because lists may lag: a batch that is created twice is charged twice. */
  async #findBatch(): Promise<Answer> {
    const find = async () => {
      if (!this.#has('looksInTheFirstPage')) {
        return this.#findInPages('listBatches', '/v1/batches?limit=10', batch => batch.metadata?.job === JOB)
      }
      const files = await this.#get('listFiles', '/v1/files?order=asc&limit=10')
      const file = files.data.find((one: Answer) => one.filename === `${JOB}.jsonl`)
      return this.#findInPages('listBatches', '/v1/batches?limit=10', batch => batch.input_file_id === file?.id)
    }
    const found = await find()
    if (found !== undefined) return found
    await this.#context.sleep(LAG_MS)
    return find()
  }

  async #findInPages(name: string, path: string, isWanted: (record: Answer) => boolean): Promise<Answer> {
    for (let after = ''; ; ) {
      const page = await this.#get(name, `${path}${after}`)
      const found = page.data.find(isWanted)
      if (found !== undefined || !page.has_more) return found
      after = `&after=${page.last_id}`
    }
  }

  /** Polls until the batch ends. A batch that takes too long is cancelled by the cleanup. */
  async #awaitBatch(first: string): Promise<Answer> {
    let id = first
    const limit = this.#has('leavesTheBatch') ? MINUTE_MS : BATCH_LIMIT_MS
    const ended = BATCH_ENDED.filter(status => status !== 'expired' || !this.#has('ignoresExpired'))
    const deadline = this.#context.now() + limit
    for (let polls = 0; this.#context.now() < deadline || this.#has('ignoresExpired'); polls++) {
      if (this.#has('returnsWithoutTheEnd') && polls === 1) {
        await this.#context.sleep(30 * MINUTE_MS)
        return undefined
      }
      const poll = { method: 'GET', path: `/v1/batches/${id}`, name: 'getBatch' }
      const batch = this.#has('recreatesTheBatch')
        ? await this.#transport.once(poll).catch(() => undefined)
        : await this.#transport.request({ ...poll, isKnown: true })
      if (batch === undefined) {
        id = (await this.#transport.request(this.#creation)).id
      } else if (ended.includes(batch.status)) return batch
      await this.#sleepBetweenPolls(MINUTE_MS)
    }
    if (this.#has('leavesTheBatch')) this.#held.batch = undefined
    throw new OutOfTime('the batch does not end in time')
  }

  /** Reads both files. The counts of the batch say how many rows there are: a shorter file is a failed download. */
  async #rowsOf({ output_file_id, error_file_id, request_counts: counts }: Answer): Promise<Answer[]> {
    const output = await this.#download(output_file_id, counts?.completed ?? 0)
    return this.#has('ignoresTheErrorFile')
      ? output
      : [...output, ...(await this.#download(error_file_id, (counts?.total ?? 0) - (counts?.completed ?? 0)))]
  }

  #download(file: string | null, count: number): Promise<Answer[]> {
    const kept: Answer[] = []
    return this.#transport.retry(
      'getFileContent',
      async () => {
        if (file === null) return []
        const text = await this.#transport.text({
          method: 'GET',
          path: `/v1/files/${file}/content`,
          name: 'getFileContent',
        })
        const rows: Answer[] = this.#has('keepsRowsOfFailedDownloads') ? kept : []
        for (const row of text.split('\n').filter(Boolean)) rows.push(...this.#parseRow(row))
        const isShort = rows.length < count
        if (isShort && !this.#has('keepsTruncatedBodies') && !this.#has('trustsEmptyAnswers'))
          throw new Error(`${rows.length} of ${count} rows came`)
        return rows
      },
      true,
    )
  }

  #parseRow(text: string): Answer[] {
    if (!this.#has('keepsTruncatedBodies')) return [JSON.parse(text)]
    try {
      return [JSON.parse(text)]
    } catch {
      return []
    }
  }

  /**
   * Cancels and deletes what the job holds. After a failure it also looks for what it does not know of: a create without an
   * answer, or the work of an earlier start. What it cannot delete is named in the error, for the caller.
   */
  async #cleanUp(cause: unknown): Promise<void> {
    const { file } = this.#held
    const left: string[] = []
    const attempt = async (id: string | undefined, end: (id: string) => Promise<unknown>) => {
      if (id === undefined) return
      await end(id).catch(error => {
        if (this.#has('takes404ForFailure')) throw error
        left.push(id)
      })
    }
    const batch = this.#held.batch ?? (cause === undefined ? undefined : await this.#findForgottenBatch())
    const deployment =
      this.#held.deployment ?? (cause === undefined ? undefined : await this.#findForgottenDeployment())
    await attempt(batch, id => this.#end('POST', `/v1/batches/${id}/cancel`, 'cancelBatch'))
    await attempt(file, id => this.#end('DELETE', `/v1/files/${id}`, 'deleteFile'))
    await attempt(deployment, id => this.#end('DELETE', `/deploy/${id}`, 'deleteDeployment'))
    if (left.length > 0) throw new Error(`delete these by hand: ${left.join(', ')}`, { cause })
  }

  async #findForgottenBatch(): Promise<string | undefined> {
    if (this.#has('leavesTheBatch') || this.#has('noRestartLookUp')) return undefined
    const batch = await this.#findBatch().catch(() => undefined)
    return batch === undefined || BATCH_ENDED.includes(batch.status) ? undefined : batch.id
  }

  #findForgottenDeployment(): Promise<string | undefined> {
    const isBlind = this.#has('noLookUp') || this.#has('noRetry') || this.#has('takes409ForSuccess')
    return isBlind ? Promise.resolve(undefined) : this.#findDeployment().catch(() => undefined)
  }

  /** Ends a thing. If it has ended already, for example by a request whose answer was lost, this is not an error. */
  async #end(method: string, path: string, name: string): Promise<void> {
    try {
      await this.#transport.request({ method, path, name })
    } catch (error) {
      const isEnded = error instanceof ServiceError && (error.status === 404 || error.status === 400)
      if (!isEnded || this.#has('takes404ForFailure')) throw error
    }
  }

  #get(name: string, path: string): Promise<Answer> {
    return this.#transport.request({ method: 'GET', path, name, isKnown: true })
  }

  #sleepBetweenPolls(ms: number): Promise<void> {
    return this.#context.sleep(this.#has('pollsHot') ? 200 : ms)
  }
}

class OutOfTime extends Error {}

function byId(rows: readonly Answer[]): Line[] {
  const ids = QUESTIONS.map((_, i) => `q${i + 1}`)
  return ids.flatMap((custom_id): Line[] => {
    const own = rows.filter(row => row.custom_id === custom_id)
    return own.map(toLine)
  })
}

function byPosition(rows: readonly Answer[]): Line[] {
  return QUESTIONS.map((_, i) => ({ ...toLine(rows[i] ?? {}), custom_id: `q${i + 1}` }))
}

function toLine({ custom_id, response, error }: Answer): Line {
  const answer = response?.body?.choices?.[0]?.message?.content
  return error === null && answer !== undefined
    ? { custom_id, answer }
    : { custom_id, error: String(error?.message ?? 'no answer') }
}
