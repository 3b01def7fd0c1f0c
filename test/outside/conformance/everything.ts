/** A server on version 1.x of the SDK with everything that the official conformance suite tests. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import * as schemas from '@modelcontextprotocol/sdk/types.js';

type Extra = RequestHandlerExtra<schemas.ServerRequest, schemas.ServerNotification>;

interface Call {
  readonly args: Readonly<{ prompt?: unknown; message?: unknown }>;
  readonly extra: Extra;
}

type Content = schemas.CallToolResult['content'][number];
type Tool = (call: Call) => Promise<readonly Content[]>;

const PIXEL: string = [
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAA',
  'DUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
].join('');
const SOUND = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

const pause = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 50));
const text = (said: string): Content => ({ type: 'text', text: said });
const image: Content = { type: 'image', data: PIXEL, mimeType: 'image/png' };

function resource(uri: string, mimeType: string, said: string): Content {
  return { type: 'resource', resource: { uri, mimeType, text: said } };
}

// ── Tools ────────────────────

async function ask(
  { extra }: Call,
  message: string,
  properties: Record<string, object>,
): Promise<readonly Content[]> {
  const requestedSchema = { type: 'object', properties };
  const params = { message, requestedSchema } as schemas.ElicitRequestFormParams;
  // On the stream of the call, because the session's own stream may not be open yet.
  const request = { method: 'elicitation/create', params } as const;
  const answer = await extra.sendRequest(request, schemas.ElicitResultSchema);
  return [text(`Elicitation completed: ${JSON.stringify(answer)}`)];
}

const NAMES = ['option1', 'option2', 'option3'];
const TITLED = NAMES.map((name) => ({ const: name, title: `The ${name}` }));

const TOOLS: Readonly<Record<string, Tool>> = {
  test_simple_text: async () => [text('This is a simple text response for testing.')],
  test_image_content: async () => [image],
  test_audio_content: async () => [{ type: 'audio', data: SOUND, mimeType: 'audio/wav' }],
  test_embedded_resource: async () => [
    resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  ],
  test_multiple_content_types: async () => [
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  ],
  async test_tool_with_logging({ extra }) {
    for (const data of ['execution started', 'processing data', 'execution completed']) {
      const params = { level: 'info', data: `Tool ${data}` } as const;
      await extra.sendNotification({ method: 'notifications/message', params });
      await pause();
    }
    return [text('Logged.')];
  },
  async test_tool_with_progress({ extra }) {
    const { progressToken = 0 } = extra._meta ?? {};
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100 };
      await extra.sendNotification({ method: 'notifications/progress', params });
      await pause();
    }
    return [text(String(progressToken))];
  },
  async test_error_handling() {
    throw new Error('This tool intentionally returns an error for testing');
  },
  async test_sampling({ extra, args }) {
    const content = { type: 'text', text: String(args.prompt) } as const;
    const messages = [{ role: 'user', content } as const];
    const params = { messages, maxTokens: 100 };
    const request = { method: 'sampling/createMessage', params } as const;
    const answer = await extra.sendRequest(request, schemas.CreateMessageResultSchema);
    return [text(`LLM response: ${JSON.stringify(answer.content)}`)];
  },
  test_elicitation: (call) =>
    ask(call, String(call.args.message), {
      username: { type: 'string', description: "User's response" },
      email: { type: 'string', description: "User's email address" },
    }),
  test_elicitation_sep1034_defaults: (call) =>
    ask(call, 'Defaults', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  test_elicitation_sep1330_enums: (call) =>
    ask(call, 'Enums', {
      untitledSingle: { type: 'string', enum: NAMES },
      titledSingle: { type: 'string', oneOf: TITLED },
      legacyEnum: { type: 'string', enum: NAMES, enumNames: NAMES.map((name) => `The ${name}`) },
      untitledMulti: { type: 'array', items: { type: 'string', enum: NAMES } },
      titledMulti: { type: 'array', items: { anyOf: TITLED } },
    }),
  async test_reconnection({ extra }) {
    extra.closeSSEStream?.();
    await pause();
    return [text('Reconnection test completed successfully')];
  },
  json_schema_2020_12_tool: async () => [text('Done.')],
};

export const TOOL_NAMES: readonly string[] = Object.keys(TOOLS);

function inputSchemaOf(name: string): schemas.Tool['inputSchema'] {
  if (name !== 'json_schema_2020_12_tool') return { type: 'object' };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    $defs: { address: { type: 'object', properties: { street: { type: 'string' } } } },
    properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
    additionalProperties: false,
  };
}

function serveTools(server: Server): void {
  server.setRequestHandler(schemas.ListToolsRequestSchema, () => ({
    tools: TOOL_NAMES.map((name) => ({
      name,
      description: `The tool ${name}.`,
      inputSchema: inputSchemaOf(name),
    })),
  }));
  server.setRequestHandler(schemas.CallToolRequestSchema, async ({ params }, extra) => {
    const { name, arguments: args = {} } = params;
    const tool = TOOLS[name];
    if (tool === undefined) throw new Error(`unknown tool: ${name}`);
    try {
      return { content: [...(await tool({ args, extra }))] };
    } catch (error) {
      return { content: [text(String(error))], isError: true };
    }
  });
}

// ── Resources, prompts and completions ────────────────────

function serveResources(server: Server): void {
  const uris = ['test://static-text', 'test://static-binary', 'test://watched-resource'];
  server.setRequestHandler(schemas.ListResourcesRequestSchema, () => ({
    resources: uris.map((uri) => ({ uri, name: uri, description: uri, mimeType: 'text/plain' })),
  }));
  server.setRequestHandler(schemas.ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
  }));
  server.setRequestHandler(schemas.ReadResourceRequestSchema, ({ params: { uri } }) => {
    if (uri === 'test://static-binary') {
      return { contents: [{ uri, mimeType: 'image/png', blob: PIXEL }] };
    }
    return { contents: [{ uri, mimeType: 'text/plain', text: `The content of ${uri}: 123.` }] };
  });
  server.setRequestHandler(schemas.SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(schemas.UnsubscribeRequestSchema, () => ({}));
}

type PromptArguments = Readonly<Record<string, string>>;

const PROMPTS: Readonly<Record<string, (args: PromptArguments) => readonly Content[]>> = {
  test_simple_prompt: () => [text('This is a simple prompt for testing.')],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [
    text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
  ],
  test_prompt_with_embedded_resource: ({ resourceUri = '' }) => [
    resource(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
    text('Please process the embedded resource above.'),
  ],
  test_prompt_with_image: () => [image, text('Please analyze the image above.')],
};

function servePrompts(server: Server): void {
  server.setRequestHandler(schemas.ListPromptsRequestSchema, () => ({
    prompts: Object.keys(PROMPTS).map((name) => ({ name, description: name })),
  }));
  server.setRequestHandler(schemas.GetPromptRequestSchema, ({ params }) => {
    const contents = PROMPTS[params.name]?.(params.arguments ?? {}) ?? [];
    return { messages: contents.map((content) => ({ role: 'user', content })) };
  });
  server.setRequestHandler(schemas.CompleteRequestSchema, () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
}

/** A new server for each session. */
export function createEverything(): Server {
  const info = { name: 'everything', version: '1.0.0' };
  const resources = { subscribe: true };
  const capabilities = { tools: {}, resources, prompts: {}, completions: {}, logging: {} };
  const server = new Server(info, { capabilities });
  serveTools(server);
  serveResources(server);
  servePrompts(server);
  return server;
}
