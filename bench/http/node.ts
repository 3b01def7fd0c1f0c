/** The servers on node:http alone. */
import type { RequestListener, ServerResponse } from 'node:http';
import { isAccessError, toResponse } from 'keyscope';
import { HttpError } from '../by-hand.ts';
import { ENTITY } from '../keys.ts';
import { ourKeys, plainKeys, unread } from './credentials.ts';
import { answerTo, OURS, PLAIN, type Serve } from './route.ts';

function send(response: ServerResponse, entityUuid: string): void {
  response.setHeader('Content-Type', 'application/json').end(JSON.stringify(answerTo(entityUuid)));
}

export const onNode: Readonly<Record<string, Serve>> = {
  bare: () => ({ ...unread(), listener: (_request, response) => send(response, ENTITY) }),
  // Without a framework there is no middleware; this much an asynchronous handler costs.
  'an await of nothing': () => {
    const listener: RequestListener = async (_request, response) => {
      await undefined;
      send(response, ENTITY);
    };
    return { ...unread(), listener };
  },
  [PLAIN]: () => {
    const { entityOf, credentials } = plainKeys();
    const listener: RequestListener = (request, response) => {
      response.setHeader('Cache-Control', 'no-store');
      try {
        send(response, entityOf(request.headers));
      } catch (error) {
        response.writeHead(error instanceof HttpError ? error.status : 500).end();
      }
    };
    return { ...credentials, listener };
  },
  // As in the README's quick start.
  [OURS]: async () => {
    const { guarding, credentials } = await ourKeys();
    const { policy, keyring, realm } = guarding;
    const listener: RequestListener = async (request, response) => {
      response.setHeader('Cache-Control', 'no-store');
      try {
        const { entityUuid } = await keyring.admit(request, { policy, operation: 'listThreats' });
        send(response, entityUuid);
      } catch (error) {
        if (!isAccessError(error)) console.error(error);
        const { status, headers, body } = toResponse(error, { realm });
        response.writeHead(status, headers).end(body);
      }
    };
    return { ...credentials, listener };
  },
};
