import type { CallerToken } from '../simulation/account/access/scoped-tokens.ts'
import type { BatchRecord } from '../simulation/batches/batch-row.ts'
import type { FileContent, FileHandle } from '../simulation/batches/files.ts'
import type { World } from '../simulation/world.ts'
import type { ScriptedAnswer } from './openai/scripted-answers.ts'
import type { DeclaredEndpoint, Json } from './openapi/json-schema.ts'

/** An example of a request and of its answer. */
export interface InvocationExample {
  readonly path: string
  readonly input: object
  readonly output: object
}

/** The names that the schemas of endpoints have under a names profile. */
export interface SchemaNames {
  /** Returns the schema of a body, an answer or an event of an endpoint with vendor names. */
  toVendorSchema(schema: Json, endpoint: DeclaredEndpoint): Json
  /** Returns the vendor name of a parameter of a path. */
  toVendorParam(name: string): string
  /** Returns an example of a request to an endpoint, and of its answer, with vendor names. */
  toVendorExample(example: InvocationExample, endpoint: DeclaredEndpoint): InvocationExample
}

/** The names of the lines of batch files under a names profile. */
export interface FileNames {
  /** Returns the size and the hash of an upload with neutral names. */
  toInternalContent(content: FileContent): Pick<FileContent, 'bytes' | 'hash'>
  /** Returns the content of a file as a client reads it. */
  toVendorContent(file: FileHandle): Pick<FileContent, 'chunks' | 'bytes'>
  /** Returns the record of a batch whose errors name the fields of the vendor. */
  nameErrors(record: BatchRecord): BatchRecord
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
  /** The names of the schemas in the answer; undefined for neutral names. */
  schemaNames: SchemaNames | undefined
  /** The names of batch lines in uploads; undefined without a names profile. */
  inputNames: FileNames | undefined
  /** The names of batch lines in the answer; undefined for neutral names. */
  outputNames: FileNames | undefined
}
