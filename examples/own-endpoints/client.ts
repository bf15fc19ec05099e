/** Clients of the pods, and one that takes a pod if the first host has no GPU. */
import type { Pod } from './pods.ts'

export interface Host {
  readonly fetch: typeof fetch
  readonly url: string
  readonly token: string
  /** Waits so many milliseconds. */
  sleep(ms: number): Promise<void>
}

export class HostError extends Error {
  readonly status: number
  /** Milliseconds that the host asks to wait. */
  readonly retryAfter: number

  constructor({ status, headers }: Response, text: string) {
    super(`${status} ${text}`)
    this.status = status
    this.retryAfter = Number(headers.get('retry-after') ?? 0) * 1_000 || 0
  }
}

export async function call<Answer>(host: Host, method: string, path: string, body?: unknown): Promise<Answer> {
  const headers = { authorization: `Bearer ${host.token}`, 'content-type': 'application/json' }
  const response = await host.fetch(`${host.url}${path}`, {
    method,
    headers,
    signal: AbortSignal.timeout(30_000),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new HostError(response, text)
  return JSON.parse(text) as Answer
}

/** Creates a pod and waits until it runs. It has a defect: after an error, the pod goes on. */
export async function startPod(host: Host, name: string): Promise<Pod> {
  const { id } = await call<Pod>(host, 'POST', '/rest/v1/pods', { name, gpuTypeId: 'H100' })
  for (;;) {
    const pod = await call<Pod>(host, 'GET', `/rest/v1/pods/${id}`)
    if (pod.desiredStatus === 'RUNNING') return pod
    await host.sleep(5_000)
  }
}

/** The same without the defect: it looks for the pod by its name, repeats what failed, and names what it could not delete. */
export async function startPodSafely(host: Host, name: string): Promise<Pod> {
  const again = <Answer>(work: () => Promise<Answer>) => repeat(host, work)
  const find = async () => (await call<Pod[]>(host, 'GET', '/rest/v1/pods')).find(pod => pod.name === name)
  const { id } = await again(
    async () => (await find()) ?? (await call<Pod>(host, 'POST', '/rest/v1/pods', { name, gpuTypeId: 'H100' })),
  )
  try {
    for (;;) {
      const pod = await again(() => call<Pod>(host, 'GET', `/rest/v1/pods/${id}`))
      if (pod.desiredStatus === 'RUNNING') return pod
      await host.sleep(5_000)
    }
  } catch (error) {
    await again(() => call(host, 'DELETE', `/rest/v1/pods/${id}`)).catch((cause: unknown) => {
      throw new Error(`the pod ${id} goes on, because it could not be deleted`, { cause })
    })
    throw error
  }
}

async function repeat<Answer>(host: Host, work: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const isFinal = error instanceof HostError && error.status < 500 && ![408, 429].includes(error.status)
      if (isFinal || attempt === 8) throw error
      const asked = error instanceof HostError ? error.retryAfter : 0
      await host.sleep(Math.max(asked, 1_000 * 2 ** attempt))
    }
  }
}

/** Deploys a model on the first host. If it does not run in 10 minutes, it takes a pod of the second host. */
export async function deployAnywhere(host: Host, name: string): Promise<string> {
  const model = { model_name: `acme/${name}`, gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
  const { deploy_id } = await call<{ deploy_id: string }>(host, 'POST', '/deploy/llm', model)
  for (let waited = 0; waited < 600; waited += 15) {
    const { status } = await call<{ status: string }>(host, 'GET', `/deploy/${deploy_id}`)
    if (status === 'running') return deploy_id
    await host.sleep(15_000)
  }
  await call(host, 'DELETE', `/deploy/${deploy_id}`)
  return (await startPod(host, name)).id
}
