import { serving } from '../serving';

export const GET = (request: Request) => serving().whoami(request);
