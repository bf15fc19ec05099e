/**
 * Every operation of the service, by path and method: its route, and where it is declared.
 * `npm run generate` writes this file from the folders.
 *
 * A module of declarations exports nothing else. In the package, it is evaluated with the first use of an operation.
 */
import * as audioSpeech from './audio/speech.ts'
import * as audioTranscriptions from './audio/transcriptions.ts'
import * as accountApiTokens from './endpoints/account/api-tokens.ts'
import * as accountBilling from './endpoints/account/billing.ts'
import * as accountLimits from './endpoints/account/limits.ts'
import * as accountMe from './endpoints/account/me.ts'
import * as accountPayments from './endpoints/account/payments.ts'
import * as accountScopedTokens from './endpoints/account/scoped-tokens.ts'
import * as accountUsage from './endpoints/account/usage.ts'
import * as availability from './endpoints/availability.ts'
import * as batches from './endpoints/batches.ts'
import * as cli from './endpoints/cli.ts'
import * as containers from './endpoints/containers.ts'
import * as countTokens from './endpoints/count-tokens.ts'
import * as deployments from './endpoints/deployments.ts'
import * as files from './endpoints/files.ts'
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
import { documented, neighbour } from './operation-table.ts'

export const OPERATIONS = {
  listAggregatorModels: documented('GET /aggregator/models', () => modelsModelLists.listAggregatorModels),
  getCliVersion: neighbour('GET /cli/version', () => cli.getCliVersion),
  checkCliVersion: neighbour('GET /cli/version/check', () => cli.checkCliVersion),
  deployHubModel: neighbour('POST /deploy/hub', () => modelsModelDeployments.deployHubModel),
  listDeployments: documented('GET /deploy/list', () => deployments.listDeployments),
  createLlmDeployment: documented('POST /deploy/llm', () => deployments.createLlmDeployment),
  getGpuAvailability: neighbour('GET /deploy/llm/gpu_availability', () => availability.getGpuAvailability),
  suggestDeploymentName: neighbour('GET /deploy/llm/suggest_name', () => availability.suggestDeploymentName),
  getAccountStats: neighbour('GET /deploy/stats', () => stats.getAccountStats),
  deleteDeployment: neighbour('DELETE /deploy/{deploy_id}', () => deployments.deleteDeployment),
  getDeployment: neighbour('GET /deploy/{deploy_id}', () => deployments.getDeployment),
  updateDeployment: neighbour('PUT /deploy/{deploy_id}', () => deployments.updateDeployment),
  startDeployment: documented('POST /deploy/{deploy_id}/start', () => deployments.startDeployment),
  getDeploymentStats: neighbour('GET /deploy/{deploy_id}/stats', () => stats.getDeploymentStats),
  getDetailedDeploymentStats: neighbour('GET /deploy/{deploy_id}/stats2', () => stats.getDetailedDeploymentStats),
  stopDeployment: neighbour('POST /deploy/{deploy_id}/stop', () => deployments.stopDeployment),
  listModelFamilies: neighbour('GET /model-families/names', () => modelsModelLists.listModelFamilies),
  getModelFamily: neighbour('GET /model-families/{family_name}', () => modelsModelLists.getModelFamily),
  listModels: documented('GET /models/deployment/list', () => modelsModels.listModels),
  listFeaturedModels: neighbour('GET /models/featured', () => modelsModelLists.listFeaturedModels),
  listPublicModels: neighbour('GET /models/list', () => modelsModels.listPublicModels),
  listLoraModels: neighbour('GET /models/lora/list', () => modelsModelLists.listLoraModels),
  listPrivateModels: neighbour('GET /models/private/list', () => modelsModels.listPrivateModels),
  deleteModel: documented('DELETE /models/{model_name}', () => modelsModels.deleteModel),
  getModel: neighbour('GET /models/{model_name}', () => modelsModels.getModel),
  updateModelDetails: neighbour('POST /models/{model_name}/meta', () => modelsModelDetails.updateModelDetails),
  updateModelPublicity: neighbour('POST /models/{model_name}/publicity', () => modelsModelDetails.updateModelPublicity),
  getModelSchema: documented('GET /models/{model_name}/schema/{variantKey}', () => modelsModels.getModelSchema),
  listModelVersions: neighbour('GET /models/{model_name}/versions', () => modelsModels.listModelVersions),
  getBillingPortal: neighbour('GET /payment/billing-portal', () => accountBilling.getBillingPortal),
  getPaymentChecklist: neighbour('GET /payment/checklist', () => accountMe.getPaymentChecklist),
  getPaymentConfig: neighbour('GET /payment/config', () => accountBilling.getPaymentConfig),
  setPaymentConfig: neighbour('POST /payment/config', () => accountBilling.setPaymentConfig),
  addFunds: documented('POST /payment/funds', () => accountPayments.addFunds),
  setTopup: documented('POST /payment/topup', () => accountPayments.setTopup),
  getUsage: neighbour('GET /payment/usage', () => accountUsage.getUsage),
  getRentUsage: documented('GET /payment/usage/rent', () => accountPayments.getRentUsage),
  getTokenUsage: neighbour('GET /payment/usage/tokens', () => accountUsage.getTokenUsage),
  getUsageOfApiToken: neighbour('GET /payment/usage/{api_token}', () => accountUsage.getUsageOfApiToken),
  listApiTokens: documented('GET /v1/api-tokens', () => accountApiTokens.listApiTokens),
  createApiToken: neighbour('POST /v1/api-tokens', () => accountApiTokens.createApiToken),
  deleteApiToken: neighbour('DELETE /v1/api-tokens/{token}', () => accountApiTokens.deleteApiToken),
  getApiToken: neighbour('GET /v1/api-tokens/{token}', () => accountApiTokens.getApiToken),
  createSpeech: neighbour('POST /v1/audio/speech', () => audioSpeech.createSpeech, 'mirrored'),
  createTranscription: neighbour(
    'POST /v1/audio/transcriptions',
    () => audioTranscriptions.createTranscription,
    'mirrored',
  ),
  createTranslation: neighbour('POST /v1/audio/translations', () => audioTranscriptions.createTranslation, 'mirrored'),
  listBatches: neighbour('GET /v1/batches', () => batches.listBatches, 'mirrored'),
  createBatch: documented('POST /v1/batches', () => batches.createBatch, 'mirrored'),
  getBatch: neighbour('GET /v1/batches/{batch_id}', () => batches.getBatch, 'mirrored'),
  cancelBatch: neighbour('POST /v1/batches/{batch_id}/cancel', () => batches.cancelBatch, 'mirrored'),
  createChatCompletion: neighbour('POST /v1/chat/completions', () => openaiChat.createChatCompletion, 'mirrored'),
  createCompletion: neighbour('POST /v1/completions', () => openaiCompletions.createCompletion, 'mirrored'),
  listContainers: neighbour('GET /v1/containers', () => containers.listContainers),
  createContainer: neighbour('POST /v1/containers', () => containers.createContainer),
  getContainerGpuAvailability: neighbour(
    'GET /v1/containers/gpu_availability',
    () => availability.getContainerGpuAvailability,
  ),
  getContainerParams: neighbour('GET /v1/containers/params', () => containers.getContainerParams),
  deleteContainer: neighbour('DELETE /v1/containers/{container_id}', () => containers.deleteContainer),
  getContainer: neighbour('GET /v1/containers/{container_id}', () => containers.getContainer),
  renameContainer: neighbour('PATCH /v1/containers/{container_id}', () => containers.renameContainer),
  deployModel: neighbour('POST /v1/deploy', () => modelsModelDeployments.deployModel),
  queryDeploymentLogs: neighbour('GET /v1/deployment_logs/query', () => logs.queryDeploymentLogs),
  createEmbeddings: neighbour('POST /v1/embeddings', () => openaiEmbeddings.createEmbeddings, 'mirrored'),
  listFiles: neighbour('GET /v1/files', () => files.listFiles, 'mirrored'),
  uploadFile: documented('POST /v1/files', () => files.uploadFile, 'mirrored'),
  deleteFile: neighbour('DELETE /v1/files/{file_id}', () => files.deleteFile, 'mirrored'),
  getFile: neighbour('GET /v1/files/{file_id}', () => files.getFile, 'mirrored'),
  getFileContent: neighbour('GET /v1/files/{file_id}/content', () => files.getFileContent, 'mirrored'),
  listHosted: neighbour('GET /v1/hosted', () => hosted.listHosted),
  createHosted: neighbour('POST /v1/hosted', () => hosted.createHosted),
  deleteHosted: neighbour('DELETE /v1/hosted/{instance_id}', () => hosted.deleteHosted),
  getHosted: neighbour('GET /v1/hosted/{instance_id}', () => hosted.getHosted),
  renameHosted: documented('PATCH /v1/hosted/{instance_id}', () => hosted.renameHosted),
  expandHostedStorage: documented('POST /v1/hosted/{instance_id}/expand_storage', () => hosted.expandHostedStorage),
  startHosted: neighbour('POST /v1/hosted/{instance_id}/start', () => hosted.startHosted),
  stopHosted: neighbour('POST /v1/hosted/{instance_id}/stop', () => hosted.stopHosted),
  createImageEdit: neighbour('POST /v1/images/edits', () => images.createImageEdit, 'mirrored'),
  createImage: neighbour('POST /v1/images/generations', () => images.createImage, 'mirrored'),
  createImageVariation: neighbour('POST /v1/images/variations', () => images.createImageVariation, 'mirrored'),
  createDeploymentInference: neighbour(
    'POST /v1/inference/deploy/{deploy_id}',
    () => inference.createDeploymentInference,
  ),
  createInference: neighbour('POST /v1/inference/{model_name}', () => inference.createInference),
  queryLogs: neighbour('GET /v1/logs/query', () => logs.queryLogs),
  createLora: documented('POST /v1/lora/create', () => loras.createLora),
  deleteLora: neighbour('DELETE /v1/lora/{lora_name}', () => loras.deleteLora),
  getLora: neighbour('GET /v1/lora/{lora_name}', () => loras.getLora),
  updateLora: neighbour('PATCH /v1/lora/{lora_name}', () => loras.updateLora),
  getLoraStatus: neighbour('GET /v1/lora/{lora_name}/status', () => loras.getLoraStatus),
  deleteMe: neighbour('DELETE /v1/me', () => accountMe.deleteMe),
  getMe: neighbour('GET /v1/me', () => accountMe.getMe),
  updateMe: neighbour('PATCH /v1/me', () => accountMe.updateMe),
  getGpuLimits: neighbour('GET /v1/me/gpu_limit', () => accountLimits.getGpuLimits),
  requestGpuLimit: documented('POST /v1/me/gpu_limit/request', () => accountLimits.requestGpuLimit),
  getRateLimits: neighbour('GET /v1/me/rate_limit', () => accountLimits.getRateLimits),
  requestRateLimits: neighbour('POST /v1/me/rate_limit/request', () => accountLimits.requestRateLimits),
  listLorasOfModel: neighbour('GET /v1/model/{model_name}/loras', () => loras.listLorasOfModel),
  listServedModels: neighbour('GET /v1/models', () => openaiModels.listServedModels, 'mirrored'),
  getRequestCosts: neighbour('POST /v1/request-costs', () => accountUsage.getRequestCosts),
  inspectScopedToken: neighbour('GET /v1/scoped-jwt', () => accountScopedTokens.inspectScopedToken),
  createScopedToken: neighbour('POST /v1/scoped-jwt', () => accountScopedTokens.createScopedToken),
  listSshKeys: neighbour('GET /v1/ssh_keys', () => sshKeys.listSshKeys),
  addSshKey: neighbour('POST /v1/ssh_keys', () => sshKeys.addSshKey),
  deleteSshKey: neighbour('DELETE /v1/ssh_keys/{ssh_key_id}', () => sshKeys.deleteSshKey),
  textToSpeech: neighbour('POST /v1/text-to-speech/{voice_id}', () => audioSpeech.textToSpeech),
  streamTextToSpeech: neighbour('POST /v1/text-to-speech/{voice_id}/stream', () => audioSpeech.streamTextToSpeech),
  listLoras: neighbour('GET /v1/user/loras', () => loras.listLoras),
  listVoices: documented('GET /v1/voices', () => voices.listVoices),
  addVoice: neighbour('POST /v1/voices/add', () => voices.addVoice),
  deleteVoice: neighbour('DELETE /v1/voices/{voice_id}', () => voices.deleteVoice),
  getVoice: documented('GET /v1/voices/{voice_id}', () => voices.getVoice),
  editVoice: neighbour('POST /v1/voices/{voice_id}/edit', () => voices.editVoice),
  getHardware: documented('GET /v2/hardware', () => availability.getHardware),
  createMessage: neighbour('POST /vendor_a/v1/messages', () => messagesMessages.createMessage),
  countTokens: documented('POST /vendor_a/v1/messages/count_tokens', () => countTokens.countTokens),
}
