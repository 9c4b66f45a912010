import './mantine.css';
import './console.css';
import { MantineProvider } from '@mantine/core';
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { type ReactNode, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { cssVariables, theme } from './theme.ts';

/** Puts the pages into the document, with the nonce of its styles. */
export function mount(pages: ReactNode, queries: QueryClient): void {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
  // For the dialogs of Mantine, which lock scrolling by another library.
  setNonce(nonce);
  const mountPoint = document.getElementById('root');
  if (!mountPoint) throw new Error('The page has no place for the console');
  createRoot(mountPoint).render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={cssVariables}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
      >
        <QueryClientProvider client={queries}>{pages}</QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
