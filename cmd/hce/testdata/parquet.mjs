// Prints the rows of a Parquet file as JSON lines, read with hyparquet.
//
//   node parquet.mjs MODULES FILE
//
// Keys have the order of the columns. Integers become numbers, times RFC 3339 in seconds.
import { pathToFileURL } from 'node:url'

const [modules, path] = process.argv.slice(2)
const load = (file) => import(pathToFileURL(`${modules}/${file}`))
const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } = await load('hyparquet/src/node.js')
const { decompress } = await load('fzstd/esm/index.mjs')

const value = (_, v) => (typeof v === 'bigint' ? Number(v) : v)
const seconds = (v) => (v instanceof Date ? v.toISOString().replace('.000Z', 'Z') : v)

const file = await asyncBufferFromFile(path)
const metadata = await parquetMetadataAsync(file)
let start = 0
for (const group of metadata.row_groups) {
  const end = start + Number(group.num_rows)
  const compressors = { ZSTD: (input, length) => decompress(input, new Uint8Array(length)) }
  for (const row of await parquetReadObjects({ file, metadata, rowStart: start, rowEnd: end, compressors })) {
    const plain = Object.fromEntries(Object.entries(row).map(([name, v]) => [name, seconds(v)]))
    process.stdout.write(JSON.stringify(plain, value) + '\n')
  }
  start = end
}
