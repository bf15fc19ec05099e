import { expect, test } from 'vitest'
import { loadFixture } from '../../src/data/fixtures/load.ts'

const PREFIXES = {
  uid: 'user',
  tokens: 'token',
  voices: 'voice',
  ssh_keys: 'ssh_key',
  hosted: 'inst',
  containers: 'container',
}

test.each(['default', 'empty', 'fleet', 'full', 'two-nodes'])(
  'ids of the world %s have the form of created ids',
  name => {
    const { account, api_tokens, voices, ssh_keys, hosted, containers, files, batches, deployments } = loadFixture(name)
    const ids = {
      uid: [account.uid],
      tokens: api_tokens.map(({ token_id }) => token_id),
      voices: voices.map(({ voice_id }) => voice_id),
      ssh_keys: ssh_keys.map(({ id }) => id),
      hosted: hosted.map(({ instance_id }) => instance_id),
      containers: containers.map(({ container_id }) => container_id),
    }
    for (const [kind, prefix] of Object.entries(PREFIXES)) {
      for (const id of ids[kind as keyof typeof ids]) expect(id).toMatch(new RegExp(`^${prefix}_[A-Za-z0-9]{24}$`))
    }
    for (const { user_id } of voices) expect(user_id).toBe(account.uid)
    for (const { id, purpose } of files) if (purpose === 'batch') expect(id).toMatch(/^file_[A-Za-z0-9]{24}$/)
    for (const { id } of batches) expect(id).toMatch(/^batch_[A-Za-z0-9]{24}$/)
    for (const { deploy_id } of deployments) expect(deploy_id).toMatch(/^[A-Za-z0-9]{16}$/)
  },
)
