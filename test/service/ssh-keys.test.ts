/** The SSH keys of an account, as a client manages them. */
import { expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { issues, refused, SECOND, service } from './service-world.ts'

const EPOCH = 1_767_225_600
const [, BASE64] = loadFixture('default').ssh_keys[0]!.key.split(' ') as [string, string]
const LAPTOP = { name: 'laptop', key: `ssh-ed25519 ${BASE64} robin@laptop` }
const OTHER = {
  name: 'desk',
  key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f',
}

test('a key is added, listed and deleted', async () => {
  const { client, world } = service('empty')
  expect(await client.listSshKeys()).toEqual([])
  world.runTo(90 * SECOND)
  const added = await client.addSshKey({ ...LAPTOP, key: `${LAPTOP.key}\r\n` })
  const expected = { id: expect.stringMatching(/^ssh_key_[A-Za-z0-9]{24}$/), ...LAPTOP, created_at: EPOCH + 90 }
  expect(added).toEqual(expected)
  const second = await client.addSshKey(OTHER)
  expect(await client.listSshKeys()).toEqual([added, second])
  expect(await client.deleteSshKey({ ssh_key_id: added.id })).toEqual({})
  expect(await client.listSshKeys()).toEqual([second])
  const entries = world.journal.entries().filter(({ kind }) => kind.startsWith('sshKey.'))
  const kinds = entries.map(({ kind, fields }) => [kind, fields?.ssh_key_id])
  expect(kinds).toEqual([
    ['sshKey.added', added.id],
    ['sshKey.added', second.id],
    ['sshKey.deleted', added.id],
  ])
  // Its name and its key are free again, and the new record has another id.
  expect((await client.addSshKey(LAPTOP)).id).not.toBe(added.id)
})

test('a key is 409 when its name exists, or the same key with another comment', async () => {
  const { client } = service('empty')
  await client.addSshKey(LAPTOP)
  const expected = [409, "an SSH key is named 'laptop' already"]
  expect(await refused(client.addSshKey({ ...OTHER, name: 'laptop' }))).toEqual(expected)
  expect(await refused(client.addSshKey({ name: 'copy', key: `ssh-ed25519 ${BASE64}` }))).toEqual([
    409,
    "the SSH key 'laptop' is the same key",
  ])
})

test.each([
  ['name', undefined, 'missing'],
  ['name', '', 'string_too_short'],
  ['name', 'x'.repeat(65), 'string_too_long'],
  ['key', undefined, 'missing'],
  ['key', '', 'string_too_short'],
  ['key', `ssh-ed25519 ${BASE64} ${'x'.repeat(32_000)}`, 'string_too_long'],
  ['key', 'ssh-ed25519 AAAA', 'value_error'],
  ['key', 'ssh-dss AAAA', 'value_error'],
])('a key with an invalid %s is 422: %#', async (field, value, type) => {
  const { client } = service('empty')
  const body = { ...LAPTOP, [field]: value } as typeof LAPTOP
  expect(await issues(client.addSshKey(body))).toEqual([`body/${field} ${type}`])
})

test('a private key is refused, and the answer does not repeat it', async () => {
  const { ask } = service('empty')
  const key = '-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----'
  const { status, body } = await ask('POST /v1/ssh_keys', { name: 'oops', key })
  expect(status).toBe(422)
  expect(body.detail[0].msg).toContain('it is a private key; give the public key')
  expect(JSON.stringify(body)).not.toContain('b3BlbnNzaC1rZXk')
})

test('an unknown key is 404', async () => {
  const { client } = service()
  for (const ssh_key_id of ['none', 'robin-laptop', '__proto__'])
    expect((await refused(client.deleteSshKey({ ssh_key_id })))[0]).toBe(404)
})
