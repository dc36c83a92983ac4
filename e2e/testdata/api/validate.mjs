// Validates an OpenAPI document: node validate.mjs MODULES FILE
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";

const [modules, file] = process.argv.slice(2);
const { Validator } = await import(pathToFileURL(createRequire(path.join(modules, "x.js")).resolve("@seriousme/openapi-schema-validator")).href);
const validator = new Validator();
const result = await validator.validate(file);
console.log(JSON.stringify({ valid: result.valid, version: validator.version, errors: result.errors }));
