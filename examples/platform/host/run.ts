/** Starts a server of the platform, prints what you can try, and runs until a signal stops it. */
import type { Server } from 'node:http';
import type { Server as NetServer } from 'node:net';
import { join } from 'node:path';
import { explain } from '../service/problem.ts';
import { type Arguments, readArguments } from './arguments.ts';
import type { Platform } from './boot.ts';
import { openPlatform } from './boot.ts';
import { firstKey } from './first-key.ts';
import { atFirstSignal, holdPort, listen, readPort, stop, whyNot } from './listen.ts';
import { shownPath, whereabouts } from './whereabouts.ts';

type CreateServer = (platform: Platform) => Server | Promise<Server>;
/** Returns what else you can try, in addition to REST. */
type TryAlso = (origin: string) => string;

/** The default folder for the demo's files. */
const FOLDER = join(import.meta.dirname, '../../../.demo');

/** Functions that close what was opened. They run in reverse order. */
type Opened = (() => unknown)[];

/** More time than requests, usage and connections to the store need to finish. */
const LAST_RESORT_MS = 20_000;

async function shutDown(opened: Opened): Promise<void> {
  // Ends a process that hangs. The timer itself does not keep the process alive.
  setTimeout(() => process.exit(1), LAST_RESORT_MS).unref();
  try {
    for (const close of opened.splice(0).reverse()) await close();
  } catch (error) {
    console.error(explain(error));
    process.exitCode = 1;
  }
}

interface Address {
  /** A port, or the server that holds one. */
  readonly at: number | NetServer;
  readonly origin: string;
}

/** Finds a free port first, because the service has to know its own address. */
async function findAddress(opened: Opened): Promise<Address> {
  const port = readPort(8787);
  if (port !== 0) return { at: port, origin: `http://127.0.0.1:${port}` };
  const { holder, origin } = await holdPort();
  opened.push(() => holder.close());
  return { at: holder, origin };
}

async function start(
  createServer: CreateServer,
  tryAlso: TryAlso,
  folder: string,
  { store }: Arguments,
  opened: Opened,
): Promise<void> {
  const { at, origin } = await findAddress(opened);
  const { PUBLIC_URL } = process.env;
  const platform = await openPlatform(folder, { store, publicUrl: PUBLIC_URL || origin });
  opened.push(() => platform.close());
  const server = await createServer(platform);
  opened.push(() => stop(server));
  const url = await listen(server, at);
  const key = await firstKey(platform, url, folder);
  const also = tryAlso(origin);
  // Before it prints that it is up: a program that waits for that may stop it at once.
  atFirstSignal(() => shutDown(opened));
  const words = `${key}\n${also}\n${whereabouts(platform, folder)}`;
  console.log(`The deception platform is up at ${url}\n\n${words}`);
}

/**
 * Starts a server, and runs until a signal stops it.
 *
 * @param tryAlso Returns what else you can try, in addition to REST.
 * @param folder The folder for its files.
 */
export async function run(
  createServer: CreateServer,
  tryAlso: TryAlso = () => '',
  folder: string = FOLDER,
): Promise<void> {
  const args = readArguments(`npx node ${shownPath(process.argv[1] ?? '')} [--store <address>]`);
  if (args === null) return;
  const opened: Opened = [];
  try {
    await start(createServer, tryAlso, folder, args, opened);
  } catch (error) {
    console.error(whyNot(error));
    process.exitCode = 1;
    await shutDown(opened);
  }
}
