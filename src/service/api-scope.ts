import type { CallerToken } from '../simulation/account/access/scoped-tokens.ts'
import type { BatchRecord } from '../simulation/batches/batch-handle.ts'
import type { FileContent, FileHandle } from '../simulation/batches/files.ts'
import type { World } from '../simulation/world.ts'
import type { ScriptedAnswer } from './openai/scripted-answers.ts'
import type { DeclaredEndpoint, Json } from './openapi/json-schema.ts'

/** The names of a names profile. */
export interface VendorNames {
  readonly names: { readonly fields: ReadonlyMap<string, string>; toVendorPath(path: string): string }
  /** The names of the lines of batch files. */
  readonly lines: {
    /** Returns the size and the hash of an upload with neutral names. */
    toInternalContent(content: FileContent): Pick<FileContent, 'bytes' | 'hash'>
    /** Returns the content of a file as a client reads it. */
    toVendorContent(file: FileHandle): Pick<FileContent, 'chunks' | 'bytes'>
    /** Returns the record of a batch whose errors name the fields of the vendor. */
    nameErrors(record: BatchRecord): BatchRecord
  }
  forEndpoint(endpoint: DeclaredEndpoint): {
    readonly body: { toVendor(value: unknown): unknown } | undefined
    readonly returns: { toVendor(value: unknown): unknown }
  }
  /** Returns the schema of a part of an endpoint with vendor names. */
  nameSchema(schema: Json, endpoint: DeclaredEndpoint): Json
}

/** What handlers of the service's API get besides their input. */
export interface ApiScope {
  world: World
  /** The caller's token; undefined where the endpoint asks for none. */
  token: CallerToken | undefined
  /** What is answered in place of a model; undefined where nothing is scripted. */
  findScriptedAnswer: (model: string, words: string) => ScriptedAnswer | undefined
  /** Hosts beside loopback addresses that webhooks may have, each with an optional port. */
  webhookHosts: readonly string[]
  /** Returns the declaration of the endpoint that answers a method and a neutral path, or undefined. */
  findEndpoint: (method: string, path: string) => DeclaredEndpoint | undefined
  /** The names of the request; undefined without a names profile. */
  inputNames: VendorNames | undefined
  /** The names of the answer; undefined for neutral names. */
  outputNames: VendorNames | undefined
}
