/** The versions of a driver that the documentation promises, and how they are tried. */
import { readFileSync } from 'node:fs';
import type { KeyStore } from 'keyscope';
import { storeContract } from 'keyscope/testing';

/** Where a trial keeps its keys. */
export interface Place {
  /** Called for each test of the contract. */
  openStore(): KeyStore | Promise<KeyStore>;
  close(): Promise<void>;
}

/** A way in which a service may set up a driver. */
export interface Trial {
  /** As the table names it. */
  readonly options: string;
  /** @param url Of the server; empty if there is none. */
  open(driver: unknown, url: string): Promise<Place>;
}

/** What the clients of a range connect to. */
export interface Server {
  /** As the table names it. */
  readonly name: string;
  url(): string | Promise<string>;
}

/** Names in the package.json of this folder. */
export interface Versions {
  readonly lowest: string;
  readonly newest: string;
}

/** From which version on a client is promised, and what is tried of it. */
export interface Range extends Versions {
  /** As the first column of the table names it. */
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

/** What became of a trial. */
export interface Outcome {
  readonly tests: number;
  /** A line for each test that failed. */
  readonly failed: readonly string[];
}

interface ContractTest {
  readonly name: string;
  run(): Promise<void> | void;
}

/** Runs the store contract, one test after the other. */
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
