import { connectURL } from '../client/settings.ts';

/**
 * Lets a person connect an account at a provider in a window, and gives its id. Rejects with what that window says, or when it
 * is closed before its end.
 */
export async function connectAccount(provider: string, tenantID: string, again?: string): Promise<string> {
  // Opened by the click itself: a window that is opened later is blocked.
  const opened = window.open('', '_blank', 'popup,width=520,height=700');
  if (!opened) throw new Error('The browser has blocked the window of the provider');
  try {
    opened.location.href = await connectURL(provider, tenantID, again);
  } catch (error) {
    opened.close();
    throw error;
  }
  return endOf(opened);
}

function endOf(opened: Window): Promise<string> {
  const listening = new AbortController();
  return new Promise<string>((resolve, reject) => {
    const onMessage = ({ source, origin, data }: MessageEvent) => {
      if (source !== opened || origin !== location.origin) return;
      if (data?.type === 'OAUTH_SUCCESS') resolve(String(data.oauthConnectionID));
      if (data?.type === 'OAUTH_FAILURE') reject(new Error(String(data.error)));
    };
    window.addEventListener('message', onMessage, { signal: listening.signal });
    const closing = setInterval(() => {
      // Its message is delivered first.
      if (opened.closed) setTimeout(() => reject(new Error('The window was closed before the account was connected')));
    }, 500);
    listening.signal.addEventListener('abort', () => clearInterval(closing));
  }).finally(() => listening.abort());
}
