/** The baseline of a start: a Hono server that can do nothing. */
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const app = new Hono()
app.get('/', context => context.text('ok'))
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
