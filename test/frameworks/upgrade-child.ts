/** On Bun, opens a WebSocket through a guarded fetch handler, and prints the echo of its server. */
import { createGuard } from './.project/fetch/adapter.ts';
import { keyring } from './.project/keys.ts';
import { OWN } from './guarded.ts';

/** The part of Bun's own API that is used here. */
interface Server {
  readonly url: URL;
  upgrade(request: Request): boolean;
}
interface Bun {
  serve(options: {
    port: number;
    hostname: string;
    fetch(request: Request, server: Server): Promise<Response | undefined>;
    websocket: { message(socket: { send(text: string): void }, text: string): void };
  }): Server;
}
type Open = new (url: URL, options: { headers: object }) => WebSocket;

const guard = createGuard({ keyring, realm: 'acme' });
const { Bun } = globalThis as unknown as { readonly Bun: Bun };
const { url } = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: guard('listProjects')((request, _admission, server: Server) => {
    if (server.upgrade(request)) return;
    return new Response('not a WebSocket', { status: 426 });
  }),
  websocket: { message: (socket, text) => socket.send(text) },
});

const input = { name: 'test', scopes: ['projects:read'], expiresAt: 'never' } as const;
const { key } = await keyring.issue(input, { entityId: OWN, scopes: 'all' });
const headers = { Authorization: `Bearer ${key}` };
const statuses = [{}, headers].map(async (each) => (await fetch(url, { headers: each })).status);
console.log(`Answered ${(await Promise.all(statuses)).join()}`);
const socket = new (WebSocket as unknown as Open)(url, { headers });
socket.onopen = () => socket.send('hello');
socket.onmessage = ({ data }) => {
  console.log(`Echoed ${data}`);
  process.exit();
};
