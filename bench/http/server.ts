/**
 * One server in a process of its own, named in the arguments. Whoever asks is told how long it has
 * worked.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerParent } from './child.ts';
import type { Credentials } from './route.ts';
import { SERVERS } from './servers.ts';

export interface Ready extends Credentials {
  readonly port: number;
}

await answerParent(async () => {
  const [framework = '', name = ''] = process.argv.slice(2);
  const served = await SERVERS[framework]?.[name]?.();
  if (served === undefined) throw new Error(`no server of the name ${name} on ${framework}`);
  const { listener, ...credentials } = served;
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const ready: Ready = { ...credentials, port: (server.address() as AddressInfo).port };
  return { ready, answer: () => process.cpuUsage() };
});
