import { describe, expect, test } from 'vitest'
import type { ApiToken } from '../../src/data/records/account.ts'
import type { AuthRule } from '../../src/service/endpoint.ts'
import { authenticate } from '../../src/service/http/authentication.ts'
import { RefusalError } from '../../src/service/refusals.ts'

const token = (value: string, allowed_ips: string[] = []): ApiToken => ({
  token: value,
  token_id: `id_${value}`,
  name: value,
  created_at: 0,
  allowed_ips,
})
const known = new Map([token('good'), token('other'), token('office', ['203.0.113.0/24'])].map(one => [one.token, one]))
const tokens = { tokenByValue: (value: string) => known.get(value) }

function ask(headers: Record<string, string>, rule: AuthRule = 'token', address = '127.0.0.1') {
  const sent = new Headers(headers)
  try {
    return authenticate(tokens, { header: name => sent.get(name) }, rule, address)?.token
  } catch (error) {
    if (error instanceof RefusalError) return [error.status, error.body]
    throw error
  }
}

const absent = [401, { detail: { error: 'not authenticated' } }]
const unknown = [401, { detail: 'User is not authorized to access this resource' }]

describe('which token a request carries', () => {
  test.each<[Record<string, string>, unknown]>([
    [{}, absent],
    [{ authorization: 'Bearer good' }, 'good'],
    [{ authorization: 'bearer good' }, 'good'],
    [{ authorization: 'BEARER   good ' }, 'good'],
    [{ authorization: 'Bearer\tgood' }, 'good'],
    [{ authorization: 'Bearer wrong' }, unknown],
    [{ authorization: 'Bearer <API_TOKEN>' }, unknown],
    [{ authorization: 'Bearer Good' }, unknown],
    [{ authorization: 'Bearer' }, absent],
    [{ authorization: 'Bearer ' }, absent],
    [{ authorization: 'good' }, absent],
    [{ authorization: 'Basic good' }, absent],
    [{ authorization: 'Bearer good other' }, absent],
    [{ authorization: 'Bearer good, Bearer other' }, absent],
    [{ authorization: 'Bearergood' }, absent],
    [{ 'alt-api-key': 'good' }, 'good'],
    [{ 'ALT-API-KEY': ' good ' }, 'good'],
    [{ 'alt-api-key': 'wrong' }, unknown],
    [{ 'alt-api-key': 'good other' }, absent],
    [{ 'alt-api-key': '' }, absent],
    [{ 'alt-api-key': 'null' }, absent],
    [{ authorization: '', 'alt-api-key': 'good' }, 'good'],
    [{ authorization: 'Bearer other', 'alt-api-key': 'good' }, 'other'],
    [{ authorization: 'Bearer wrong', 'alt-api-key': 'good' }, unknown],
    [{ authorization: 'Basic x', 'alt-api-key': 'good' }, absent],
    [{ authorization: 'Bearer good', 'alt-api-key': 'null' }, 'good'],
  ])('%j', (headers, expected) => {
    expect(ask(headers)).toEqual(expected)
  })
})

test('an endpoint without authentication looks at nothing', () => {
  expect(ask({ authorization: 'Bearer wrong' }, 'none')).toBeUndefined()
})

test('where it is optional, nothing is fine and a wrong token is not', () => {
  expect(ask({}, 'optional')).toBeUndefined()
  expect(ask({ authorization: 'Bearer good' }, 'optional')).toBe('good')
  expect(ask({ authorization: 'Bearer wrong' }, 'optional')).toEqual(unknown)
})

test('allowed_ips: from elsewhere 403, and the message says from where', () => {
  const office = { authorization: 'Bearer office' }
  expect(ask(office, 'token', '203.0.113.9')).toBe('office')
  expect(ask(office, 'token', '::ffff:203.0.113.9')).toBe('office')
  const [status, body] = ask(office) as [number, { error: string }]
  expect(status).toBe(403)
  expect(body.error).toMatch(/^token '.*' is not allowed from 127\.0\.0\.1; its allowed_ips are [\d./, ]+$/)
})
