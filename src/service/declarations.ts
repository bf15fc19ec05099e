/**
 * Every operation of the service, by path and method: its route, and where it is declared.
 * `npm run generate` writes this file from the folders.
 *
 * A module of declarations exports nothing else. In the package, it is evaluated with the first use of an operation.
 */
import * as audioSpeech from './audio/speech.ts'
import * as audioTextToSpeech from './audio/text-to-speech.ts'
import * as audioTranscriptions from './audio/transcriptions.ts'
import * as accountApiTokens from './endpoints/account/api-tokens.ts'
import * as accountBilling from './endpoints/account/billing.ts'
import * as accountGpuLimits from './endpoints/account/gpu-limits.ts'
import * as accountMe from './endpoints/account/me.ts'
import * as accountPayments from './endpoints/account/payments.ts'
import * as accountRateLimits from './endpoints/account/rate-limits.ts'
import * as accountRequestCosts from './endpoints/account/request-costs.ts'
import * as accountScopedTokens from './endpoints/account/scoped-tokens.ts'
import * as accountUsage from './endpoints/account/usage.ts'
import * as aggregator from './endpoints/aggregator.ts'
import * as availability from './endpoints/availability.ts'
import * as batches from './endpoints/batches.ts'
import * as cli from './endpoints/cli.ts'
import * as containers from './endpoints/containers.ts'
import * as countTokens from './endpoints/count-tokens.ts'
import * as deployments from './endpoints/deployments.ts'
import * as files from './endpoints/files.ts'
import * as hardware from './endpoints/hardware.ts'
import * as hosted from './endpoints/hosted.ts'
import * as images from './endpoints/images.ts'
import * as inference from './endpoints/inference.ts'
import * as logs from './endpoints/logs.ts'
import * as loras from './endpoints/loras.ts'
import * as modelsModelDeployments from './endpoints/models/model-deployments.ts'
import * as modelsModelDetails from './endpoints/models/model-details.ts'
import * as modelsModelLists from './endpoints/models/model-lists.ts'
import * as modelsModels from './endpoints/models/models.ts'
import * as sshKeys from './endpoints/ssh-keys.ts'
import * as stats from './endpoints/stats.ts'
import * as voices from './endpoints/voices.ts'
import * as messagesMessages from './messages/messages.ts'
import * as openaiChat from './openai/chat.ts'
import * as openaiCompletions from './openai/completions.ts'
import * as openaiEmbeddings from './openai/embeddings.ts'
import * as openaiModels from './openai/models.ts'
import { type OperationTable, operation } from './operation-table.ts'

/** The exports of all modules. */
export type Declarations = typeof audioSpeech &
  typeof audioTextToSpeech &
  typeof audioTranscriptions &
  typeof accountApiTokens &
  typeof accountBilling &
  typeof accountGpuLimits &
  typeof accountMe &
  typeof accountPayments &
  typeof accountRateLimits &
  typeof accountRequestCosts &
  typeof accountScopedTokens &
  typeof accountUsage &
  typeof aggregator &
  typeof availability &
  typeof batches &
  typeof cli &
  typeof containers &
  typeof countTokens &
  typeof deployments &
  typeof files &
  typeof hardware &
  typeof hosted &
  typeof images &
  typeof inference &
  typeof logs &
  typeof loras &
  typeof modelsModelDeployments &
  typeof modelsModelDetails &
  typeof modelsModelLists &
  typeof modelsModels &
  typeof sshKeys &
  typeof stats &
  typeof voices &
  typeof messagesMessages &
  typeof openaiChat &
  typeof openaiCompletions &
  typeof openaiEmbeddings &
  typeof openaiModels

export const OPERATIONS: OperationTable<Declarations> = {
  listAggregatorModels: operation('GET /aggregator/models', 'documented', () => aggregator.listAggregatorModels),
  getCliVersion: operation('GET /cli/version', 'neighbour', () => cli.getCliVersion),
  checkCliVersion: operation('GET /cli/version/check', 'neighbour', () => cli.checkCliVersion),
  deployHubModel: operation('POST /deploy/hub', 'neighbour', () => modelsModelDeployments.deployHubModel),
  listDeployments: operation('GET /deploy/list', 'documented', () => deployments.listDeployments),
  createLlmDeployment: operation('POST /deploy/llm', 'documented', () => deployments.createLlmDeployment),
  getGpuAvailability: operation('GET /deploy/llm/gpu_availability', 'neighbour', () => availability.getGpuAvailability),
  suggestDeploymentName: operation(
    'GET /deploy/llm/suggest_name',
    'neighbour',
    () => availability.suggestDeploymentName,
  ),
  getAccountStats: operation('GET /deploy/stats', 'neighbour', () => stats.getAccountStats),
  deleteDeployment: operation('DELETE /deploy/{deploy_id}', 'neighbour', () => deployments.deleteDeployment),
  getDeployment: operation('GET /deploy/{deploy_id}', 'neighbour', () => deployments.getDeployment),
  updateDeployment: operation('PUT /deploy/{deploy_id}', 'neighbour', () => deployments.updateDeployment),
  startDeployment: operation('POST /deploy/{deploy_id}/start', 'documented', () => deployments.startDeployment),
  getDeploymentStats: operation('GET /deploy/{deploy_id}/stats', 'neighbour', () => stats.getDeploymentStats),
  getDetailedDeploymentStats: operation(
    'GET /deploy/{deploy_id}/stats2',
    'neighbour',
    () => stats.getDetailedDeploymentStats,
  ),
  stopDeployment: operation('POST /deploy/{deploy_id}/stop', 'neighbour', () => deployments.stopDeployment),
  listModelFamilies: operation('GET /model-families/names', 'neighbour', () => modelsModelLists.listModelFamilies),
  getModelFamily: operation('GET /model-families/{family_name}', 'neighbour', () => modelsModelLists.getModelFamily),
  listModels: operation('GET /models/deployment/list', 'documented', () => modelsModels.listModels),
  listFeaturedModels: operation('GET /models/featured', 'neighbour', () => modelsModelLists.listFeaturedModels),
  listPublicModels: operation('GET /models/list', 'neighbour', () => modelsModels.listPublicModels),
  listLoraModels: operation('GET /models/lora/list', 'neighbour', () => modelsModelLists.listLoraModels),
  listPrivateModels: operation('GET /models/private/list', 'neighbour', () => modelsModels.listPrivateModels),
  deleteModel: operation('DELETE /models/{model_name}', 'documented', () => modelsModels.deleteModel),
  getModel: operation('GET /models/{model_name}', 'neighbour', () => modelsModels.getModel),
  updateModelDetails: operation(
    'POST /models/{model_name}/meta',
    'neighbour',
    () => modelsModelDetails.updateModelDetails,
  ),
  updateModelPublicity: operation(
    'POST /models/{model_name}/publicity',
    'neighbour',
    () => modelsModelDetails.updateModelPublicity,
  ),
  getModelSchema: operation(
    'GET /models/{model_name}/schema/{variantKey}',
    'documented',
    () => modelsModels.getModelSchema,
  ),
  listModelVersions: operation('GET /models/{model_name}/versions', 'neighbour', () => modelsModels.listModelVersions),
  getBillingPortal: operation('GET /payment/billing-portal', 'neighbour', () => accountBilling.getBillingPortal),
  getPaymentChecklist: operation('GET /payment/checklist', 'neighbour', () => accountMe.getPaymentChecklist),
  getPaymentConfig: operation('GET /payment/config', 'neighbour', () => accountBilling.getPaymentConfig),
  setPaymentConfig: operation('POST /payment/config', 'neighbour', () => accountBilling.setPaymentConfig),
  addFunds: operation('POST /payment/funds', 'documented', () => accountPayments.addFunds),
  setTopup: operation('POST /payment/topup', 'documented', () => accountPayments.setTopup),
  getUsage: operation('GET /payment/usage', 'neighbour', () => accountUsage.getUsage),
  getRentUsage: operation('GET /payment/usage/rent', 'documented', () => accountPayments.getRentUsage),
  getTokenUsage: operation('GET /payment/usage/tokens', 'neighbour', () => accountUsage.getTokenUsage),
  getUsageOfApiToken: operation('GET /payment/usage/{api_token}', 'neighbour', () => accountUsage.getUsageOfApiToken),
  listApiTokens: operation('GET /v1/api-tokens', 'documented', () => accountApiTokens.listApiTokens),
  createApiToken: operation('POST /v1/api-tokens', 'neighbour', () => accountApiTokens.createApiToken),
  deleteApiToken: operation('DELETE /v1/api-tokens/{token}', 'neighbour', () => accountApiTokens.deleteApiToken),
  getApiToken: operation('GET /v1/api-tokens/{token}', 'neighbour', () => accountApiTokens.getApiToken),
  createSpeech: operation(
    'POST /v1/audio/speech',
    'neighbour',
    () => audioSpeech.createSpeech,
    '/v1/compat/audio/speech',
  ),
  createTranscription: operation(
    'POST /v1/audio/transcriptions',
    'neighbour',
    () => audioTranscriptions.createTranscription,
    '/v1/compat/audio/transcriptions',
  ),
  createTranslation: operation(
    'POST /v1/audio/translations',
    'neighbour',
    () => audioTranscriptions.createTranslation,
    '/v1/compat/audio/translations',
  ),
  listBatches: operation('GET /v1/batches', 'neighbour', () => batches.listBatches, '/v1/compat/batches'),
  createBatch: operation('POST /v1/batches', 'documented', () => batches.createBatch, '/v1/compat/batches'),
  getBatch: operation(
    'GET /v1/batches/{batch_id}',
    'neighbour',
    () => batches.getBatch,
    '/v1/compat/batches/{batch_id}',
  ),
  cancelBatch: operation(
    'POST /v1/batches/{batch_id}/cancel',
    'neighbour',
    () => batches.cancelBatch,
    '/v1/compat/batches/{batch_id}/cancel',
  ),
  createChatCompletion: operation(
    'POST /v1/chat/completions',
    'neighbour',
    () => openaiChat.createChatCompletion,
    '/v1/compat/chat/completions',
  ),
  createCompletion: operation(
    'POST /v1/completions',
    'neighbour',
    () => openaiCompletions.createCompletion,
    '/v1/compat/completions',
  ),
  listContainers: operation('GET /v1/containers', 'neighbour', () => containers.listContainers),
  createContainer: operation('POST /v1/containers', 'neighbour', () => containers.createContainer),
  getContainerGpuAvailability: operation(
    'GET /v1/containers/gpu_availability',
    'neighbour',
    () => availability.getContainerGpuAvailability,
  ),
  getContainerParams: operation('GET /v1/containers/params', 'neighbour', () => containers.getContainerParams),
  deleteContainer: operation('DELETE /v1/containers/{container_id}', 'neighbour', () => containers.deleteContainer),
  getContainer: operation('GET /v1/containers/{container_id}', 'neighbour', () => containers.getContainer),
  renameContainer: operation('PATCH /v1/containers/{container_id}', 'neighbour', () => containers.renameContainer),
  deployModel: operation('POST /v1/deploy', 'neighbour', () => modelsModelDeployments.deployModel),
  queryDeploymentLogs: operation('GET /v1/deployment_logs/query', 'neighbour', () => logs.queryDeploymentLogs),
  createEmbeddings: operation(
    'POST /v1/embeddings',
    'neighbour',
    () => openaiEmbeddings.createEmbeddings,
    '/v1/compat/embeddings',
  ),
  listFiles: operation('GET /v1/files', 'neighbour', () => files.listFiles, '/v1/compat/files'),
  uploadFile: operation('POST /v1/files', 'documented', () => files.uploadFile, '/v1/compat/files'),
  deleteFile: operation(
    'DELETE /v1/files/{file_id}',
    'neighbour',
    () => files.deleteFile,
    '/v1/compat/files/{file_id}',
  ),
  getFile: operation('GET /v1/files/{file_id}', 'neighbour', () => files.getFile, '/v1/compat/files/{file_id}'),
  getFileContent: operation(
    'GET /v1/files/{file_id}/content',
    'neighbour',
    () => files.getFileContent,
    '/v1/compat/files/{file_id}/content',
  ),
  listHosted: operation('GET /v1/hosted', 'neighbour', () => hosted.listHosted),
  createHosted: operation('POST /v1/hosted', 'neighbour', () => hosted.createHosted),
  deleteHosted: operation('DELETE /v1/hosted/{instance_id}', 'neighbour', () => hosted.deleteHosted),
  getHosted: operation('GET /v1/hosted/{instance_id}', 'neighbour', () => hosted.getHosted),
  renameHosted: operation('PATCH /v1/hosted/{instance_id}', 'documented', () => hosted.renameHosted),
  expandHostedStorage: operation(
    'POST /v1/hosted/{instance_id}/expand_storage',
    'documented',
    () => hosted.expandHostedStorage,
  ),
  startHosted: operation('POST /v1/hosted/{instance_id}/start', 'neighbour', () => hosted.startHosted),
  stopHosted: operation('POST /v1/hosted/{instance_id}/stop', 'neighbour', () => hosted.stopHosted),
  createImageEdit: operation(
    'POST /v1/images/edits',
    'neighbour',
    () => images.createImageEdit,
    '/v1/compat/images/edits',
  ),
  createImage: operation(
    'POST /v1/images/generations',
    'neighbour',
    () => images.createImage,
    '/v1/compat/images/generations',
  ),
  createImageVariation: operation(
    'POST /v1/images/variations',
    'neighbour',
    () => images.createImageVariation,
    '/v1/compat/images/variations',
  ),
  createDeploymentInference: operation(
    'POST /v1/inference/deploy/{deploy_id}',
    'neighbour',
    () => inference.createDeploymentInference,
  ),
  createInference: operation('POST /v1/inference/{model_name}', 'neighbour', () => inference.createInference),
  queryLogs: operation('GET /v1/logs/query', 'neighbour', () => logs.queryLogs),
  createLora: operation('POST /v1/lora/create', 'documented', () => loras.createLora),
  deleteLora: operation('DELETE /v1/lora/{lora_name}', 'neighbour', () => loras.deleteLora),
  getLora: operation('GET /v1/lora/{lora_name}', 'neighbour', () => loras.getLora),
  updateLora: operation('PATCH /v1/lora/{lora_name}', 'neighbour', () => loras.updateLora),
  getLoraStatus: operation('GET /v1/lora/{lora_name}/status', 'neighbour', () => loras.getLoraStatus),
  deleteMe: operation('DELETE /v1/me', 'neighbour', () => accountMe.deleteMe),
  getMe: operation('GET /v1/me', 'neighbour', () => accountMe.getMe),
  updateMe: operation('PATCH /v1/me', 'neighbour', () => accountMe.updateMe),
  getGpuLimits: operation('GET /v1/me/gpu_limit', 'neighbour', () => accountGpuLimits.getGpuLimits),
  requestGpuLimit: operation('POST /v1/me/gpu_limit/request', 'documented', () => accountGpuLimits.requestGpuLimit),
  getRateLimits: operation('GET /v1/me/rate_limit', 'neighbour', () => accountRateLimits.getRateLimits),
  requestRateLimits: operation(
    'POST /v1/me/rate_limit/request',
    'neighbour',
    () => accountRateLimits.requestRateLimits,
  ),
  listLorasOfModel: operation('GET /v1/model/{model_name}/loras', 'neighbour', () => loras.listLorasOfModel),
  listServedModels: operation('GET /v1/models', 'neighbour', () => openaiModels.listServedModels, '/v1/compat/models'),
  getRequestCosts: operation('POST /v1/request-costs', 'neighbour', () => accountRequestCosts.getRequestCosts),
  inspectScopedToken: operation('GET /v1/scoped-jwt', 'neighbour', () => accountScopedTokens.inspectScopedToken),
  createScopedToken: operation('POST /v1/scoped-jwt', 'neighbour', () => accountScopedTokens.createScopedToken),
  listSshKeys: operation('GET /v1/ssh_keys', 'neighbour', () => sshKeys.listSshKeys),
  addSshKey: operation('POST /v1/ssh_keys', 'neighbour', () => sshKeys.addSshKey),
  deleteSshKey: operation('DELETE /v1/ssh_keys/{ssh_key_id}', 'neighbour', () => sshKeys.deleteSshKey),
  textToSpeech: operation('POST /v1/text-to-speech/{voice_id}', 'neighbour', () => audioTextToSpeech.textToSpeech),
  streamTextToSpeech: operation(
    'POST /v1/text-to-speech/{voice_id}/stream',
    'neighbour',
    () => audioTextToSpeech.streamTextToSpeech,
  ),
  listLoras: operation('GET /v1/user/loras', 'neighbour', () => loras.listLoras),
  listVoices: operation('GET /v1/voices', 'documented', () => voices.listVoices),
  addVoice: operation('POST /v1/voices/add', 'neighbour', () => voices.addVoice),
  deleteVoice: operation('DELETE /v1/voices/{voice_id}', 'neighbour', () => voices.deleteVoice),
  getVoice: operation('GET /v1/voices/{voice_id}', 'documented', () => voices.getVoice),
  editVoice: operation('POST /v1/voices/{voice_id}/edit', 'neighbour', () => voices.editVoice),
  getHardware: operation('GET /v2/hardware', 'documented', () => hardware.getHardware),
  createMessage: operation('POST /vendor_a/v1/messages', 'neighbour', () => messagesMessages.createMessage),
  countTokens: operation('POST /vendor_a/v1/messages/count_tokens', 'documented', () => countTokens.countTokens),
}
