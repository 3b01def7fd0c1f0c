/** Clients of both generations of the MCP SDK, and single messages without a client. */
import { inspect } from 'node:util';
import {
  Client as Client2,
  StreamableHTTPClientTransport as ClientTransport2,
} from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import * as transport1 from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type Generation, onStop } from './mcp-servers.ts';

/** The result of a tool. */
export interface Result {
  readonly structuredContent?:
    | { readonly items?: unknown; readonly next?: unknown; readonly id?: unknown }
    | undefined;
  readonly content: { readonly type: string; readonly text?: string }[];
  readonly isError?: boolean | undefined;
}

/** An open client. */
export interface Connection {
  /** The names of the tools, in the listed order. */
  list(): Promise<string[]>;
  call(name: string, args?: Record<string, unknown>): Promise<Result>;
}

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Opens a client until `stopAll`. */
export type Connect = (url: string, key: string | null, fetch?: Fetch) => Promise<Connection>;

const INFO = { name: 'test', version: '1.0.0' };

interface TransportOptions {
  readonly requestInit: RequestInit;
  readonly fetch?: Fetch;
}

function optionsOf(key: string | null, fetch?: Fetch): TransportOptions {
  const headers: Record<string, string> = key === null ? {} : { Authorization: `Bearer ${key}` };
  return { requestInit: { headers }, ...(fetch !== undefined && { fetch }) };
}

export const connect1: Connect = async (url, key, fetch) => {
  const client = new Client1(INFO);
  onStop(() => client.close());
  const options = optionsOf(key, fetch);
  const transport = new transport1.StreamableHTTPClientTransport(new URL(url), options);
  // Its `sessionId` is `string | undefined`, but optional in its own interface.
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) =>
      (await client.callTool({ name, arguments: args })) as unknown as Result,
  };
};

/** The protocol version of a client of 2.x. */
type Mode = 'legacy' | { readonly pin: string };

const connectAs =
  (mode: Mode): Connect =>
  async (url, key, fetch) => {
    const client = new Client2(INFO, { versionNegotiation: { mode } });
    onStop(() => client.close());
    await client.connect(new ClientTransport2(new URL(url), optionsOf(key, fetch)));
    return {
      list: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as Result,
    };
  };

/** A client of 2.x with the protocol of 2026. */
export const connect2: Connect = connectAs({ pin: '2026-07-28' });

/** A client of 2.x with the protocol of 2025. */
export const connect2Legacy: Connect = connectAs('legacy');

type Pair = readonly [server: Generation, client: string, connect: Connect];

/** Each client with each compatible server. */
export const PAIRS: readonly Pair[] = [
  ['2.x', '1.x', connect1],
  ['2.x', '2.x, as of 2025', connect2Legacy],
  ['2.x', '2.x, as of 2026', connect2],
  ['1.x', '1.x', connect1],
  ['1.x', '2.x, as of 2025', connect2Legacy],
];

/**
 * Returns a client's rejection as text, because the SDKs keep status and body in different places.
 */
export async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return `${inspect(error, { depth: 5 })} ${JSON.stringify(error)}`;
  }
  throw new Error('was not refused');
}

// ── Without a client ────────────────────

export type HeaderFields = Readonly<Record<string, string>>;

/** The headers of every POST of a client. */
export const HEADERS: HeaderFields = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
};

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Sends one message or a batch. */
export async function post(
  url: string,
  key: string | null,
  message: unknown,
  more: HeaderFields = {},
): Promise<Answer> {
  const authorization = key === null ? undefined : { Authorization: `Bearer ${key}` };
  const headers = { ...HEADERS, ...authorization, ...more };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/** Makes the message that calls a tool. */
export function toolCall(name: string, args: object = {}): object {
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
}
