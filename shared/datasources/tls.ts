import { z } from 'zod';

/** Fields for checking a server's certificate, beside the type's own field that turns TLS on. */
export const certificateFields = {
  tlsVerify: z.boolean().default(true).meta({ title: 'Verify the certificate' }),
  caCertificate: z
    .string()
    .max(100_000)
    .optional()
    .meta({ title: 'CA certificate', description: 'PEM; needed unless the certificate is from a public authority' }),
};
