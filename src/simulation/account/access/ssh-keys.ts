import type { SshKey } from '../../../data/records/account.ts'
import { purpose } from '../../../kernel/random.ts'
import { sshKeyIdentity } from '../../../lib/ssh-public-key.ts'
import { Part } from '../../part.ts'
import type { LedgerParts } from '../ledger.ts'

const ID = purpose('sshKey.id')

/** The public SSH keys of the account. Its records are in the store, so it has no state of its own. */
export class SshKeys extends Part<LedgerParts> {
  /** Returns the record with this name. */
  findByName(name: string): SshKey | undefined {
    return this.context.store.sshKeys.getByUnique(name)
  }

  /** Returns the record of the same key. Comments make no difference. `line` must be a valid key. */
  findByKey(line: string): SshKey | undefined {
    const identity = sshKeyIdentity(line)
    return this.context.store.sshKeys.all().find(({ key }) => sshKeyIdentity(key) === identity)
  }

  /** Adds a key. The API has validated `name` and `line`. */
  add(name: string, line: string): SshKey {
    const { chance, clock, store } = this.context
    const key = this.context.newKey('sshKey', name)
    const id = `ssh_key_${chance.letters(24, key, ID)}`
    const added = store.sshKeys.put({ id, name, key: line.trim(), created_at: clock.unix() })
    this.context.record(this.parts.ledger.account, 'sshKey.added', { ssh_key_id: id, name })
    this.context.markVisibleChange()
    return added
  }

  /** Deletes a key. Machines that have it keep it. */
  delete({ id }: SshKey): void {
    this.context.store.sshKeys.delete(id)
    this.context.record(this.parts.ledger.account, 'sshKey.deleted', { ssh_key_id: id })
    this.context.markVisibleChange()
  }

  /** Deletes all keys, because the account is deleted. */
  deleteAll(): void {
    for (const key of this.context.store.sshKeys.all()) this.delete(key)
  }
}
