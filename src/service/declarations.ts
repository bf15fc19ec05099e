/**
 * Every module that declares operations. `npm run generate` writes this file from the folders.
 *
 * Such a module exports nothing else. Two operations of one name do not compile.
 */
export * from './endpoints/account/api-tokens.ts'
export * from './endpoints/account/billing.ts'
export * from './endpoints/account/gpu-limits.ts'
export * from './endpoints/account/me.ts'
export * from './endpoints/account/payments.ts'
export * from './endpoints/account/usage.ts'
export * from './endpoints/aggregator.ts'
export * from './endpoints/availability.ts'
export * from './endpoints/batches.ts'
export * from './endpoints/containers.ts'
export * from './endpoints/count-tokens.ts'
export * from './endpoints/deployments.ts'
export * from './endpoints/files.ts'
export * from './endpoints/hardware.ts'
export * from './endpoints/hosted.ts'
export * from './endpoints/logs.ts'
export * from './endpoints/loras.ts'
export * from './endpoints/models.ts'
export * from './endpoints/stats.ts'
export * from './endpoints/voices.ts'
export * from './openai/chat.ts'
export * from './openai/completions.ts'
export * from './openai/embeddings.ts'
export * from './openai/models.ts'
