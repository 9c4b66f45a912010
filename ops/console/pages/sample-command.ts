const DEFAULT_PORT = '8080';

/** Installs a sample into the tenant. The command finds a Gantry of this machine by its port alone. */
export function sampleCommand(name: string, tenantID: string, { hostname, port }: Pick<URL, 'hostname' | 'port'>) {
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  const setting = isLocal && port !== '' && port !== DEFAULT_PORT ? `PORT=${port} ` : '';
  return `${setting}npm run sample -- ${name} --tenant ${tenantID}`;
}
