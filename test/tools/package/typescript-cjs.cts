// Type-checked against the declarations for `require`.
import dodici = require('dodici')

export async function request(url: string): Promise<string> {
  const client: dodici.Client = new dodici.Client(url)
  const { body } = await client.request({ path: '/', method: 'GET' })
  const text: string = await body.text()
  await client.close()
  return text
}

// @ts-expect-error an origin is no number: a declaration that lost its types would let it pass
void (() => new dodici.Client(1))
