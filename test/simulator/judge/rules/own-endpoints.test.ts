/** Judges clients of own endpoints by a request log: the roles of their declarations tell what they did. */
import { expect, test } from 'vitest'
import { endpoints, type Pod } from '../../../workbench/explore/own-pods.ts'
import { type JudgedClient, runClients } from '../judged.ts'

const rulesOf = async (client: JudgedClient) => {
  const sim = await runClients([client], { endpoints })
  return sim.judge().findings.map(({ rule, words }) => `${rule}: ${words}`)
}

/** Polls a pod that ends after a minute, so many times. */
const poll =
  (times: number): JudgedClient =>
  async ({ send, sleep }) => {
    const { body } = await send('POST', '/rest/pods', { title: 'job', minutes: 1 })
    const { podId } = body as Pod
    for (let read = 0; read < times; read++) {
      await sleep(60_000)
      await send('GET', `/rest/pods/${podId}`)
    }
  }

test('polls after the end of a record count, as many as they are too many', async () => {
  expect(await rulesOf(poll(4))).toEqual([])
  const [finding, ...others] = await rulesOf(poll(5))
  expect(others).toEqual([])
  expect(finding).toMatch(/^readsEnd: .* showed 2m after the start that the pod pod_\w+ is EXITED\. .* 3 further reads/)
})

/** Pays again after a lost answer. */
const pay =
  (looks: boolean): JudgedClient =>
  async ({ send, sim }) => {
    sim.faults.add({ on: 'payInvoice', times: 1, fault: { kind: 'reset' } })
    const { status } = await send('POST', '/rest/invoices', { podId: 'pod_a' })
    if (looks) await send('GET', '/rest/invoices')
    if (status === 0) await send('POST', '/rest/invoices', { podId: 'pod_a' })
  }

test('a payment is a create that must be looked for before it is repeated', async () => {
  expect(await rulesOf(pay(true))).toEqual([])
  expect(await rulesOf(pay(false))).toEqual([expect.stringMatching(/^looksBeforeCreate: .*\(payInvoice, /)])
})

/** Ends a pod by a stop, and does not wait for its end. */
const stop =
  (order: string): JudgedClient =>
  async ({ send, sleep }) => {
    const { body } = await send('POST', '/rest/pods', { title: 'job' })
    await sleep(60_000)
    await send('POST', `/rest/pods/${(body as Pod).podId}/${order}`)
  }

test('a record whose end has begun does not go on', async () => {
  expect(await rulesOf(stop('stop'))).toEqual([])
  expect((await rulesOf(stop('nothing'))).some(words => words.startsWith('leavesNothingRunning: '))).toBe(true)
})
