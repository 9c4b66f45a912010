import { RouterProvider } from '@tanstack/react-router';
import { queries } from '../client/queries.ts';
import { mount } from './mount.tsx';
import { router } from './router.tsx';
import { renewBy } from './session.ts';

// Loaded when a token is about to end.
renewBy(async (session) => (await import('./sign-in.ts')).renewSession(session));

mount(<RouterProvider router={router} />, queries);
