import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { started } from '../cli/process.ts'

const MIB = 1_048_576

/** Sends a form whose file is made while it goes, so that this process holds none of it. */
function upload(url: string, token: string, mib: number): Promise<{ status: number; text: string }> {
  const head =
    '--B\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n' +
    '--B\r\ncontent-disposition: form-data; name="file"; filename="large.jsonl"\r\n\r\n'
  const tail = '\r\n--B--\r\n'
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'multipart/form-data; boundary=B',
      'content-length': head.length + mib * MIB + tail.length,
    }
    const outgoing = request(`${url}/v1/files`, { method: 'POST', headers }, incoming => {
      let text = ''
      incoming.on('data', data => {
        text += data
      })
      incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text }))
    })
    outgoing.on('error', reject)
    outgoing.write(head)
    const block = Buffer.alloc(MIB, 'a')
    let sent = 0
    const send = () => {
      while (sent < mib) {
        sent++
        if (!outgoing.write(block)) {
          outgoing.once('drain', send)
          return
        }
      }
      outgoing.end(tail)
    }
    send()
  })
}

// What a process takes is read where Linux shows it.
test.skipIf(process.platform !== 'linux')(
  'a file of 199 MiB is taken in at less than twice its size, and one that is too large at next to nothing',
  { timeout: 30_000 },
  async () => {
    const { banner, url, child } = await started(['--port', '0', '--fixtures', 'empty', '--max-storage', '250MiB'])
    const token = /^token +(\S+)$/m.exec(banner)![1]!
    const memory = (what: 'VmHWM' | 'VmRSS') =>
      Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024
    const before = memory('VmRSS')

    const { status, text } = await upload(url, token, 199)

    expect([status, JSON.parse(text)]).toEqual([200, expect.objectContaining({ bytes: 199 * MIB })])
    expect(memory('VmHWM') - before).toBeLessThan(2 * 199)
    const peak = memory('VmHWM')
    expect((await upload(url, token, 199).catch(() => ({ status: 413 }))).status).toBe(413)
    expect(memory('VmHWM') - peak).toBeLessThan(64)
  },
)
