/** The page of the control room, as a server sends it. */
import { expect, test } from 'vitest'
import { running } from './running-server.ts'

test('the page loads only its own files, and a HEAD request for it gets the same head', async () => {
  const { ask, server } = await running({ fixtures: 'empty' })
  const [got, head] = [await ask('/_sim/ui'), await ask('/_sim/ui', { method: 'HEAD' })]
  const headersOf = ({ headers }: Response) =>
    Object.fromEntries([...headers].filter(([name]) => /^content-(?:type|security)/.test(name)))
  expect([got.status, head.status]).toEqual([200, 200])
  expect(headersOf(got)).toEqual({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
  })
  expect(headersOf(head)).toEqual(headersOf(got))
  expect([(await got.text()).includes('/_sim/ui/page.js'), await head.text()]).toEqual([true, ''])

  const ofWorld = await fetch(`${server.url}/_sim/worlds/default/_sim/ui`, { redirect: 'manual' })
  expect([ofWorld.status, ofWorld.headers.get('location')]).toEqual([302, '/_sim/ui#/?world=default'])
  expect((await ask('/_sim/ui/other.js')).status).toBe(404)
  expect((await ask('/_sim/ui', { method: 'POST' })).status).toBe(404)
})
