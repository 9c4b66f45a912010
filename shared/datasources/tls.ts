import { z } from 'zod';

/** How a server proves who it is; beside a field of the type's own that says whether there is TLS at all. */
export const certificateFields = {
  tlsVerify: z.boolean().default(true).meta({ title: 'Check the certificate' }),
  caCertificate: z
    .string()
    .max(100_000)
    .optional()
    .meta({ title: 'CA certificate', description: 'PEM, where the certificate is not from a public authority' }),
};
