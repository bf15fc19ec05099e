import { expectTypeOf, test } from 'vitest'
import type { Client, RequestOf, ResponseOf } from '../../src/service/client/client.ts'

test('request and response types follow from the declarations', () => {
  expectTypeOf<RequestOf<'startDeployment'>>().toEqualTypeOf<{ deploy_id: string }>()
  expectTypeOf<RequestOf<'createLlmDeployment'>>().toExtend<{ model_name: string; num_gpus?: number | undefined }>()
  expectTypeOf<{ model_name: string; gpu: 'H100-80GB' }>().toExtend<RequestOf<'createLlmDeployment'>>()
  expectTypeOf<{ model_name: string; gpu: 'H100' }>().not.toExtend<RequestOf<'createLlmDeployment'>>()
  expectTypeOf<RequestOf<'listApiTokens'>>().toEqualTypeOf<Record<never, never>>()
  expectTypeOf<RequestOf<'getRentUsage'>>().toEqualTypeOf<{
    from: number | string
    to?: number | string | undefined
  }>()
  expectTypeOf<{ purpose: 'batch'; file: string }>().toExtend<RequestOf<'uploadFile'>>()
  expectTypeOf<{ purpose: 'batch' }>().not.toExtend<RequestOf<'uploadFile'>>()
  expectTypeOf<ResponseOf<'startDeployment'>>().toEqualTypeOf<{ deploy_id: string }>()
  expectTypeOf<ResponseOf<'getDeployment'>['instances']>().toEqualTypeOf<
    { running: number; pending: number } | undefined
  >()
  expectTypeOf<ResponseOf<'getFileContent'>>().toEqualTypeOf<string>()
  expectTypeOf<Parameters<Client['listApiTokens']>>().toEqualTypeOf<[]>()
  expectTypeOf<Parameters<Client['listDeployments']>>().toExtend<[request?: { status?: string | undefined }]>()
})
