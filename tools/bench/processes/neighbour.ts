/** Loaded before the command line of the package: another client of the server, in a thread of the same process. */
import { Agent, request } from 'node:http'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { answering } from '../worker.ts'

/** Real milliseconds between two requests. */
const PAUSE_MS = 2

if (isMainThread) {
  let client: Worker
  answering({
    beside: (about: { readonly url: string; readonly token: string }) => {
      client = new Worker(new URL(import.meta.url), { workerData: about, execArgv: [] })
      client.once('error', error => {
        throw error
      })
    },
    // Since the last question.
    longest: () =>
      new Promise(resolve => {
        client.once('message', resolve)
        client.postMessage('longest')
      }),
  })
} else {
  const { url, token } = workerData as { readonly url: string; readonly token: string }
  const agent = new Agent({ keepAlive: true })
  let longest = 0
  let isAsked = false
  parentPort!.on('message', () => {
    isAsked = true
  })
  const get = () => {
    const before = process.cpuUsage()
    request(url, { agent, headers: { authorization: `Bearer ${token}` } }, response => {
      if (response.statusCode !== 200) throw new Error(`GET ${url} answered ${response.statusCode}`)
      response.resume().once('end', () => {
        // That of all threads: the server's, the collector's, and the little of this one.
        const { user, system } = process.cpuUsage(before)
        longest = Math.max(longest, (user + system) / 1000)
        // The request that waits when the question comes counts too.
        if (isAsked) {
          parentPort!.postMessage({ ms: longest })
          isAsked = false
          longest = 0
        }
        setTimeout(get, PAUSE_MS)
      })
    }).end()
  }
  get()
}
