import { finishFlow } from './callback.ts';
import { readAuthorizationURL, startFlow } from './start.ts';

export const oauthRoutes = [startFlow, readAuthorizationURL, finishFlow];
