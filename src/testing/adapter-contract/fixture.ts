/**
 * What a test of the adapter contract uses: a service, and a client that sends requests to its
 * adapter.
 */
import { type AdapterClient, createClient } from './client.js';
import type { ServedAdapter } from './serve-adapter.js';
import type { AdapterService } from './service.js';

/** The fixture of one test. */
export interface AdapterFixture extends AdapterService, AdapterClient {}

/** Makes the fixture of one test. The adapter must have been served with this service. */
export function createAdapterFixture(
  service: AdapterService,
  served: ServedAdapter,
): AdapterFixture {
  return { ...service, ...createClient(served, service.secrets) };
}
