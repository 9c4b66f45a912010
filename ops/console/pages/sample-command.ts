import { isLoopback } from '../app/loopback.ts';

const DEFAULT_PORT = '8080';

/** Installs a sample into the tenant. The command finds a Gantry of this machine by its port alone. */
export function sampleCommand(name: string, tenantID: string, { hostname, port }: Pick<URL, 'hostname' | 'port'>) {
  const setting = isLoopback(hostname) && port !== '' && port !== DEFAULT_PORT ? `PORT=${port} ` : '';
  return `${setting}npm run sample -- ${name} --tenant ${tenantID}`;
}
