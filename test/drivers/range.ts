/** The supported range of driver versions, and how to test one. */
import { readFileSync } from 'node:fs';
import type { KeyStore } from 'keyscope';
import { storeContract } from 'keyscope/testing';

/** Where a trial stores its keys. */
export interface Place {
  /** Called for each test of the contract. */
  openStore(): KeyStore | Promise<KeyStore>;
  close(): Promise<void>;
}

/** One way to configure a driver. */
export interface Trial {
  /** The options as the table prints them. */
  readonly options: string;
  /** @param url The server's URL; empty for databases without a server. */
  open(driver: unknown, url: string): Promise<Place>;
}

/** The server that the clients of a range connect to. */
export interface Server {
  /** The name as the table prints it. */
  readonly name: string;
  url(): string | Promise<string>;
}

/** Names in this folder's package.json. */
export interface Versions {
  readonly lowest: string;
  readonly newest: string;
}

/** The oldest supported version of a client, and the versions to test. */
export interface Range extends Versions {
  /** The client as the first column of the table prints it. */
  readonly client: string;
  readonly server: Server;
  readonly trials: readonly Trial[];
}

/** The version that is installed under a name. */
export function versionOf(name: string): string {
  const [installed = name] = name.split('/');
  const path = new URL(`node_modules/${installed}/package.json`, import.meta.url);
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string };
  return version;
}

/** The result of a trial. */
export interface Outcome {
  readonly tests: number;
  /** One line per failed test. */
  readonly failed: readonly string[];
}

interface ContractTest {
  readonly name: string;
  run(): Promise<void> | void;
}

/** Runs the store contract, one test after another. */
export async function tryOut(trial: Trial, driver: unknown, url: string): Promise<Outcome> {
  const place = await trial.open(driver, url);
  const tests: ContractTest[] = [];
  storeContract(
    (name, run) => tests.push({ name, run }),
    async () => place.openStore(),
  );
  const failed: string[] = [];
  try {
    for (const { name, run } of tests) {
      try {
        await run();
      } catch (error) {
        failed.push(`${name}: ${String(error)}`);
      }
    }
  } finally {
    await place.close().catch((error: unknown) => failed.push(String(error)));
  }
  return { tests: tests.length, failed };
}
