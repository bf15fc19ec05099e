/** A small interface of a user: pods that run and end, with settings and invoices. No field has the provider's names. */
import * as z from 'zod'
import { endpoint, recordTable, refuse } from '../../../src/index.ts'
import type { FlowContext, FlowOptions } from '../../../src/workbench/explore/flow.ts'
import { explore, flow } from '../../../src/workbench/explore/index.ts'

const phase = z.enum(['QUEUED', 'RUNNING', 'EXITING', 'EXITED'])
const Pod = z.object({ podId: z.string(), title: z.string(), phase, volumeGb: z.number(), costPerHr: z.number() })
export type Pod = z.infer<typeof Pod>
const pods = recordTable({
  ...{ kind: 'pod', record: Pod, key: 'podId', status: 'phase' },
  ...{ ended: ['EXITED'], usdPerHour: 'costPerHr' },
})

const Invoice = z.object({ invoiceId: z.string(), podId: z.string(), state: z.enum(['PAID']) })
type Invoice = z.infer<typeof Invoice>
const invoices = recordTable({ kind: 'invoice', record: Invoice, key: 'invoiceId', status: 'state', ended: ['PAID'] })

const exits = { after: '10s', set: { phase: 'EXITED' } } as const
const no = (id: string) => refuse(404, `no pod ${id}`)

export const endpoints = {
  createPod: endpoint({
    ...{ route: 'POST /rest/pods', summary: 'Create a pod', roles: ['create pod'], returns: Pod },
    body: z.object({ title: z.string(), minutes: z.number().optional() }),
    handle: ({ body: { title, minutes }, world }) => {
      const table = world.records(pods)
      const podId = table.newId(title)
      const ends = minutes === undefined ? [] : [{ after: `${minutes}m` as const, set: exits.set }]
      const pod = { podId, title, phase: 'QUEUED' as const, volumeGb: 10, costPerHr: 2 }
      return table.put(pod, { after: '40s', set: { phase: 'RUNNING' } }, ...ends)
    },
  }),
  getPod: endpoint({
    ...{ route: 'GET /rest/pods/{podId}', summary: 'Get a pod', roles: ['read pod'], returns: Pod },
    handle: ({ params: { podId }, world }) => world.records(pods).get(podId) ?? no(podId),
  }),
  listPods: endpoint({
    ...{ route: 'GET /rest/pods', summary: 'List the pods', roles: ['list pod'], returns: z.array(Pod) },
    handle: ({ world }) => world.records(pods).all(),
  }),
  patchPod: endpoint({
    ...{ route: 'PATCH /rest/pods/{podId}', summary: 'Change a pod', status: 204, returns: z.null() },
    body: z.object({ volumeGb: z.number() }),
    handle: ({ params: { podId }, body, world }) => {
      const table = world.records(pods)
      table.put({ ...(table.get(podId) ?? no(podId)), ...body })
      return null
    },
  }),
  stopPod: endpoint({
    ...{ route: 'POST /rest/pods/{podId}/stop', summary: 'Stop a pod', returns: Pod },
    handle: ({ params: { podId }, world }) => {
      const table = world.records(pods)
      return table.put({ ...(table.get(podId) ?? no(podId)), phase: 'EXITING' }, exits)
    },
  }),
  deletePod: endpoint({
    ...{ route: 'DELETE /rest/pods/{podId}', summary: 'Delete a pod', status: 204, returns: z.null() },
    handle: ({ params: { podId }, world }) => (world.records(pods).delete(podId) ? null : no(podId)),
  }),
  payInvoice: endpoint({
    ...{ route: 'POST /rest/invoices', summary: 'Pay for a pod', roles: ['pay invoice'], returns: Invoice },
    body: z.object({ podId: z.string() }),
    handle: ({ body: { podId }, world }) => {
      const table = world.records(invoices)
      return table.put({ invoiceId: table.newId(podId), podId, state: 'PAID' })
    },
  }),
  settleInvoice: endpoint({
    ...{ route: 'PUT /rest/pods/{podId}/invoice', summary: 'Pay for a pod', roles: ['pay invoice'], returns: Invoice },
    handle: ({ params: { podId }, world }) =>
      world.records(invoices).put({ invoiceId: `${podId}-1`, podId, state: 'PAID' }),
  }),
  listInvoices: endpoint({
    ...{ route: 'GET /rest/invoices', summary: 'List the invoices', roles: ['list invoice'] },
    returns: z.array(Invoice),
    handle: ({ world }) => world.records(invoices).all(),
  }),
}

class PodError extends Error {
  readonly status: number
  readonly wait: number

  constructor({ status, headers }: Response, text: string) {
    super(`${status} ${text}`)
    this.status = status
    this.wait = Number(headers.get('retry-after') ?? 0) * 1_000 || 0
  }
}

/** A client of the pods: one request, and one that is repeated until it is answered. */
export function podClient({ fetch, url, token, sleep }: FlowContext) {
  const call = async <Answer>(method: string, path: string, body?: unknown): Promise<Answer> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const signal = AbortSignal.timeout(45_000)
    const answer = await fetch(`${url}/rest${path}`, { method, headers, signal, ...sent })
    const text = await answer.text()
    if (!answer.ok) throw new PodError(answer, text)
    return (answer.status === 204 ? undefined : JSON.parse(text)) as Answer
  }
  const created: string[] = []
  const again = async <Answer>(work: () => Promise<Answer>): Promise<Answer> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        const { status = 0, wait = 0 } = error instanceof PodError ? error : {}
        if (attempt === 9 || (status >= 400 && status < 500 && status !== 429)) {
          // Who reads the error knows what goes on.
          if (error instanceof Error && created.length > 0) error.message += `; it leaves ${created.join(', ')}`
          throw error
        }
        await sleep(Math.max(wait, 1_000 * 2 ** attempt))
      }
    }
  }
  const find = async (title: string) =>
    (await again(() => call<Pod[]>('GET', '/pods'))).find(pod => pod.title === title)
  const get = (id: string) => again(() => call<Pod>('GET', `/pods/${id}`))
  const create = async (title: string, more = {}) => {
    const pod = await again(async () => (await find(title)) ?? (await call<Pod>('POST', '/pods', { title, ...more })))
    created.push(pod.podId)
    return pod
  }
  const until = async (id: string, phases: readonly string[]) => {
    for (let reads = 0; reads < 100; reads++) {
      const pod = await get(id)
      if (phases.includes(pod.phase)) return pod
      await sleep(15_000)
    }
    throw new Error(`the pod ${id} takes too long`)
  }
  const remove = (id: string) =>
    again(() => call('DELETE', `/pods/${id}`)).catch((error: unknown) => {
      if (!(error instanceof PodError && error.status === 404)) throw new Error(`the pod ${id} goes on`)
    })
  const invoicesOf = async (id: string) =>
    (await again(() => call<Invoice[]>('GET', '/invoices'))).filter(({ podId }) => podId === id)
  return { call, again, find, get, create, until, remove, invoicesOf }
}

export type Run = (context: FlowContext) => Promise<unknown>

/** Explores a client of the pods with single faults, or with what `more` says. */
export const reportOf = (run: Run, options: FlowOptions = {}, more: Parameters<typeof explore>[1] = {}) =>
  explore(flow('pods', { endpoints, fixtures: 'empty', ...options }, run), { faults: 'singles', ...more })

export const signaturesOf = (findings: readonly { readonly signature: string }[]) =>
  findings.map(({ signature }) => signature).sort()
