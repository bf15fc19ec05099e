/** The tools of a chat request: validation, and the choice of the tool that an answer calls. */
import type { EntityKey } from '../../kernel/random.ts'
import type { JsonSchema } from '../../lib/json-schema/document.ts'
import type { World } from '../../simulation/world.ts'
import { refuse, rejectInput } from '../refusals.ts'
import { chooseTool, type Tool } from './answers.ts'
import type { ChatBody, Message, NamedTool, ToolSpec } from './chat-schema.ts'

/** Rejects with 422 if `tool_choice` needs tools, or names a tool that `tools` does not have. */
export function validateTools({ tools, tool_choice: choice }: ChatBody): void {
  if (choice === null || choice === undefined || choice === 'none' || choice === 'auto') return
  if (!tools) rejectInput(['body', 'tool_choice'], 'Value error, tool_choice needs tools to choose among')
  if (typeof choice === 'string') return
  const names = tools.map(toolName)
  const requireTool = (named: NamedTool, loc: readonly string[]) => {
    if (tools.some(tool => isNamed(tool, named))) return
    const type = toolType(named)
    const location = ['body', 'tool_choice', ...loc, type, 'name']
    rejectInput(location, `Value error, there is no ${type} tool ${toolName(named)}: tools has ${names.join(', ')}`)
  }
  if (choice.type === 'allowed_tools') {
    for (const [i, named] of choice.allowed_tools.tools.entries())
      requireTool(named, ['allowed_tools', 'tools', String(i)])
  } else requireTool(choice, [])
}

/**
 * Returns the tool that this answer calls. Under `auto` that is a tool only if the last message is the user's. Returns
 * undefined if the answer is text.
 */
export function chooseCalledTool(
  { chance }: World,
  key: EntityKey,
  { tools, tool_choice, messages }: ChatBody,
): Tool | undefined {
  if (!tools || tool_choice === 'none') return undefined
  const choice = tool_choice ?? 'auto'
  if (typeof choice === 'object' && choice.type !== 'allowed_tools') {
    return toTool(tools.find(tool => isNamed(tool, choice))!)
  }
  const allowed = typeof choice === 'object' ? choice.allowed_tools : undefined
  const lastMessage = messages.at(-1)!
  const mode = allowed?.mode ?? choice
  if (mode !== 'required' && lastMessage.role !== 'user') return undefined
  const allowedTools = tools.filter(tool => allowed?.tools.some(named => isNamed(tool, named)) ?? true)
  return chooseTool(chance, key, allowedTools.map(toTool), messageText(lastMessage))
}

function toTool(tool: ToolSpec): Tool {
  if (tool.type !== 'custom') {
    const { name, parameters } = tool.function
    return { name, parameters: (parameters ?? { type: 'object', properties: {} }) as JsonSchema }
  }
  const { name, format } = tool.custom
  if (format?.type === 'grammar') {
    refuse(
      400,
      `the input of the tool ${name} cannot be made by a grammar: leave its format out, or give it the type text`,
    )
  }
  return { name, parameters: undefined }
}

/** Returns the texts of a message, a line each. */
export function messageText({ content }: Pick<Message, 'content'>): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(part => part.text ?? '').join('\n')
}

function isNamed(tool: ToolSpec, named: NamedTool): boolean {
  return toolType(tool) === toolType(named) && toolName(tool) === toolName(named)
}

function toolType({ type }: ToolSpec | NamedTool): 'function' | 'custom' {
  return type ?? 'function'
}

function toolName(tool: ToolSpec | NamedTool): string {
  return tool.type === 'custom' ? tool.custom.name : tool.function.name
}
