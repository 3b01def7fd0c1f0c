/**
 * What a test of the adapter contract works with: a service, and a client that asks its adapter.
 */
import { type AdapterClient, createClient } from './client.js';
import type { ServedAdapter } from './serve-adapter.js';
import type { AdapterService } from './service.js';

/** The fixture of one test. */
export interface AdapterFixture extends AdapterService, AdapterClient {}

/** Makes the fixture of one test, whose service the adapter was given. */
export function createAdapterFixture(
  service: AdapterService,
  served: ServedAdapter,
): AdapterFixture {
  return { ...service, ...createClient(served, service.secrets) };
}
