import type { Voice } from '../../data/records/account.ts'
import { purpose } from '../../kernel/random.ts'
import type { JournalKindName } from '../journal-kinds.ts'
import { Part } from '../part.ts'
import type { LedgerParts } from './ledger.ts'

const ID = purpose('voice.id')

/** What a voice is made of: its words, and what its samples sound like, of which the simulation keeps the hash alone. */
export interface VoiceSpec {
  readonly name: string
  readonly description: string
  /** 16 hexadecimal digits of the content of each sample. */
  readonly samples: readonly string[]
}

/** The account's voices: what its owner makes, edits and deletes. */
export class Voices extends Part<LedgerParts> {
  create({ name, description, samples }: VoiceSpec): Voice {
    const { chance, clock, store } = this.context
    // The same sample under the same name is another voice each time, and other samples are another voice.
    const key = this.context.newKey('voice', [name, ...samples].join('\u0000'))
    const now = clock.unix()
    const voice = store.voices.put({
      user_id: store.account.uid,
      voice_id: `voice_${chance.letters(24, key, ID)}`,
      name,
      description,
      created_at: now,
      updated_at: now,
    })
    this.#record('voice.created', voice.voice_id, { name })
    return voice
  }

  /** Gives a voice other words; what stays the same is not a change. */
  edit(voice: Voice, { name, description }: Pick<Voice, 'name' | 'description'>): Voice {
    if (name === voice.name && description === voice.description) return voice
    const edited = this.context.store.voices.put({
      ...voice,
      name,
      description,
      updated_at: this.context.clock.unix(),
    })
    this.#record('voice.edited', voice.voice_id, { name })
    return edited
  }

  delete(voice: Voice): void {
    this.context.store.voices.delete(voice.voice_id)
    this.#record('voice.deleted', voice.voice_id)
  }

  /** Deletes all voices, because the account is deleted. */
  deleteAll(): void {
    for (const voice of this.context.store.voices.all()) this.delete(voice)
  }

  #record(kind: JournalKindName, voice_id: string, fields: { readonly name?: string } = {}): void {
    this.context.record(this.parts.ledger.account, kind, { voice_id, ...fields })
    this.context.markVisibleChange()
  }
}
