import { RouterProvider } from '@tanstack/react-router';
import { queries } from '../client/queries.ts';
import { renewBy } from '../client/session.ts';
import { mount } from './mount.tsx';
import { router } from './router.tsx';

// Loaded when a token is about to end.
renewBy(async (session) => (await import('../client/sign-in.ts')).renewSession(session));

mount(<RouterProvider router={router} />, queries);
