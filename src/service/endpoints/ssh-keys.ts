import * as z from 'zod'
import { findSshKeyProblem, SSH_KEY_TYPES } from '../../lib/ssh-public-key.ts'
import { neighbour } from '../endpoint.ts'
import { text } from '../fields.ts'
import { EmptyRecord, SshKeyRecord } from '../records.ts'
import { refuse, rejectInput } from '../refusals.ts'

/** Maximum length of a key with its comment, in characters. */
const MAX_KEY_CHARACTERS = 32_000

export const listSshKeys = neighbour({
  route: 'GET /v1/ssh_keys',
  summary: 'List the SSH keys of the account',
  roles: ['list sshKey'],
  assumptions: ['a bare array, oldest first', 'created_at in Unix seconds'],
  returns: z.array(SshKeyRecord),
  handle: ({ world }) => [...world.store.sshKeys.all()],
})

export const addSshKey = neighbour({
  route: 'POST /v1/ssh_keys',
  summary: 'Add a public SSH key to the account',
  roles: ['create sshKey'],
  assumptions: [
    `key is one line: a type (${SSH_KEY_TYPES.join(', ')}), the key in base64 and a comment, which may be missing`,
    'a key is refused with 422 if its base64 lacks a field of its type',
    'key is kept and returned as sent, without the spaces and line ends around it',
    'a new id is ssh_key_ and 24 letters and digits',
  ],
  refusals: { 409: 'a key has this name already, or is the same key with any comment' },
  body: z.object({ name: text({ min: 1, max: 64 }), key: text({ min: 1, max: MAX_KEY_CHARACTERS }) }),
  returns: SshKeyRecord,
  example: {
    body: {
      name: 'notebook',
      key: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f robin@notebook',
    },
  },
  handle: ({ body: { name, key }, world: { sshKeys } }) => {
    const problem = findSshKeyProblem(key)
    if (problem !== undefined) rejectInput(['body', 'key'], `Value error, not a public SSH key: ${problem}`)
    if (sshKeys.findByName(name) !== undefined) refuse(409, `an SSH key is named '${name}' already`)
    const same = sshKeys.findByKey(key)
    if (same !== undefined) refuse(409, `the SSH key '${same.name}' is the same key`)
    return { ...sshKeys.add(name, key) }
  },
})

export const deleteSshKey = neighbour({
  route: 'DELETE /v1/ssh_keys/{ssh_key_id}',
  summary: 'Delete an SSH key of the account',
  assumptions: ['200 {}', 'machines that have the key keep it'],
  roles: ['delete sshKey'],
  refusals: { 404: 'unknown SSH key' },
  returns: EmptyRecord,
  example: { target: '/v1/ssh_keys/{id}', prerequisites: ['addSshKey'] },
  handle: ({ params: { ssh_key_id }, world }) => {
    world.sshKeys.delete(world.store.sshKeys.get(ssh_key_id) ?? refuse(404, `no SSH key ${ssh_key_id}`))
    return {}
  },
})
